import { failureReason } from '../../core/failure-reason.ts'
import { createPodAccess, podApiOf } from '../../kube/pod-access.ts'
import { createKubeClient } from '../kube/client.ts'
import { ensurePostgresSecret } from './postgres-password.ts'
import { testInjection } from './self-test.ts'
import type { Task } from './task.ts'
import { uninstall } from './uninstall.ts'

/** Tasks of the chart's Jobs, each with a ServiceAccount of its own: `node operator-tasks.js TASK`. */
const TASKS: Readonly<Record<string, Task>> = {
  uninstall: uninstall,
  'self-test': testInjection,
  'postgres-password': ensurePostgresSecret,
}
const TIMEOUT_MS = 120_000

async function main(): Promise<void> {
  const [name = ''] = process.argv.slice(2)
  const task = TASKS[name]
  const namespace = process.env['POD_NAMESPACE'] ?? ''
  if (task === undefined)
    throw new Error(`Unknown task ${JSON.stringify(name)}. Give one of ${Object.keys(TASKS).join(', ')}.`)
  if (namespace === '') throw new Error('POD_NAMESPACE is not set. Set it to the namespace of Chaperone.')
  const api = podApiOf(process.env)
  if (api === null) throw new Error('KUBERNETES_SERVICE_HOST is not set. Run this task in a pod.')
  using client = createKubeClient(createPodAccess(api))
  await task({
    client,
    namespace,
    agentNamespace: process.env['AGENT_NAMESPACE'] ?? 'default',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    print: (text) => console.log(text),
  })
}

main().catch((error: unknown) => {
  console.error(failureReason(error))
  process.exitCode = 1
})
