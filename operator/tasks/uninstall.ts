import { sleep } from '../../runtime/sleep.ts'
import { removeFormerFinalizers } from '../cluster/former-finalizer.ts'
import { GUARD_RESOURCES } from '../guard/apply-guard.ts'
import { guardNames } from '../guard/guard-names.ts'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { listPages } from '../kube/list-pages.ts'
import { type KubeObject, pathOf, RESOURCES } from '../kube/objects.ts'
import { INBOUND_POLICY } from '../network/inbound-policy.ts'
import { deletePolicies } from '../network/network-policies.ts'
import { PROXY_ENV_POLICY } from '../network/proxy-env-policy.ts'
import { SANDBOX_POLICY } from '../network/sandbox-policy.ts'
import { MANIFESTS_CONFIGURATION, WEBHOOK_CONFIGURATION } from '../webhook/configuration.ts'
import type { TaskContext } from './task.ts'

const OPERATOR = 'chaperone-operator'
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const POLL_MS = 500

/**
 * Prepares the removal of the operator: stops its pods, which would otherwise write the deleted objects again, then
 * deletes the webhook configurations, admission policies and NetworkPolicies, then removes the finalizers of former
 * versions. Custom resources stay.
 */
export async function uninstall({ client, namespace, signal, print }: TaskContext): Promise<void> {
  await stopOperator(client, namespace, signal)
  print('operator stopped')
  await remove(client, `${ADMISSION}/mutatingwebhookconfigurations/${WEBHOOK_CONFIGURATION}`)
  await remove(client, `${ADMISSION}/validatingwebhookconfigurations/${MANIFESTS_CONFIGURATION}`)
  for (const { kind, name } of guardNames())
    await remove(client, pathOf(GUARD_RESOURCES[kind], undefined, name))
  print('webhook and admission policies deleted')
  for (const name of [SANDBOX_POLICY, INBOUND_POLICY, PROXY_ENV_POLICY])
    await deletePolicies(client, name, signal)
  const { items } = await listPages<KubeObject>(client, { path: pathOf(RESOURCES.Gateway) }, signal)
  const released = await removeFormerFinalizers(client, items)
  if (released > 0) print(`finalizer of a former version removed from ${released} Gateways`)
}

async function stopOperator(client: KubeClient, namespace: string, signal: AbortSignal): Promise<void> {
  const deployment = `/apis/apps/v1/namespaces/${namespace}/deployments/${OPERATOR}`
  const contentType = 'application/merge-patch+json'
  try {
    const body = { spec: { replicas: 0 } }
    await client.call({ method: 'PATCH', path: `${deployment}/scale`, contentType, body })
  } catch (error) {
    if (!hasCode(error, 'not_found')) throw error
  }
  const selection = {
    path: pathOf(RESOURCES.Pod, namespace),
    labelSelector: `app.kubernetes.io/component=operator,app.kubernetes.io/part-of=chaperone`,
  }
  while ((await listPages(client, selection, signal)).items.length > 0) {
    if (signal.aborted) throw new Error(`The pods of ${namespace}/${OPERATOR} do not terminate. Delete them.`)
    await sleep(POLL_MS, signal)
  }
}

async function remove(client: KubeClient, path: string): Promise<void> {
  try {
    await client.call({ method: 'DELETE', path })
  } catch (error) {
    if (!hasCode(error, 'not_found')) throw error
  }
}
