import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { KubeClient } from '../../../operator/kube/client.ts'
import { WEBHOOK_CONFIGURATION } from '../../../operator/webhook/configuration.ts'
import { goldenPods } from '../../support/golden-pods.ts'

const PATH = `/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${WEBHOOK_CONFIGURATION}`

type Configuration = {
  readonly webhooks: ReadonlyArray<{
    readonly name: string
    readonly clientConfig: { readonly url: string; readonly caBundle: string }
  }>
}

/**
 * Calls the webhook as the API server does, at the address and with the CA of the webhook configuration, over
 * `lanes` connections that stay open. The reviews are of pods of tenants, in turns. Returns the milliseconds of
 * each answer in ascending order.
 */
export async function reviewTimes(
  client: KubeClient,
  { count, lanes }: { readonly count: number; readonly lanes: number },
): Promise<readonly number[]> {
  const { webhooks } = await client.call<Configuration>({ method: 'GET', path: PATH })
  const annotated = webhooks.find(({ name }) => name === 'annotated.chaperone.dev')
  if (annotated === undefined) throw new Error('there is no webhook for annotated pods')
  const { url, caBundle } = annotated.clientConfig
  const agent = new Agent({ keepAlive: true, maxSockets: lanes, ca: Buffer.from(caBundle, 'base64') })
  const bodies = reviews()
  const times: number[] = []
  const lane = async (from: number): Promise<void> => {
    // The API server's connections are there already.
    await ask(agent, url, bodies[0] ?? '')
    for (let n = from; n < count; n += lanes) {
      const startedAt = performance.now()
      const answer = await ask(agent, url, bodies[n % bodies.length] ?? '')
      times.push(performance.now() - startedAt)
      if (!answer.includes('"patch"'))
        throw new Error(`the webhook injected nothing: ${answer.slice(0, 300)}`)
    }
  }
  await Promise.all(Array.from({ length: lanes }, (_, at) => lane(at)))
  agent.destroy()
  return times.sort((a, b) => a - b)
}

/** Of every shape of pod that is governed by `team/main` as it is by default. */
function reviews(): readonly string[] {
  const pods = goldenPods().filter(
    ({ expect, gateway, namespaceLabels, keepsUid }) =>
      'injected' in expect && !gateway && !namespaceLabels && !keepsUid,
  )
  return pods
    .map(({ name, pod }) => ({ name, pod: pod as { metadata: { annotations?: Record<string, string> } } }))
    .filter(({ pod }) => pod.metadata.annotations?.['chaperone.dev/gateway'] === 'main')
    .map(({ name, pod }) =>
      JSON.stringify({
        ...{ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' },
        request: {
          ...{ uid: name, namespace: 'team', operation: 'CREATE', dryRun: true, object: pod },
          resource: { group: '', version: 'v1', resource: 'pods' },
        },
      }),
    )
}

async function ask(agent: Agent, url: string, body: string): Promise<string> {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const asked = request(url, { agent, method: 'POST', headers })
  asked.end(body)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  return text(answer)
}
