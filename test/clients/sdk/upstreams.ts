import { resource, upstreamSpec } from '../../support/every-connector.ts'
import { type Recorder, startRecorder } from '../../support/recorder.ts'
import { createTestCa } from '../../support/test-ca.ts'

/** Where the five providers live, every name that their own clients use. */
const HOSTS = [
  'api.github.com',
  'uploads.github.com',
  'api.openai.com',
  'api.anthropic.com',
  'api.stripe.com',
  'files.stripe.com',
  'connect.stripe.com',
  'meter-events.stripe.com',
  'slack.com',
  'files.slack.com',
] as const

const TYPES = ['codehost', 'llm_a', 'llm_b', 'payments', 'chat'] as const

export type Upstreams = { readonly recorder: Recorder; readonly manifests: string }

/** One recorder in the place of all of them, and manifests that lead there and allow everything. */
export async function startUpstreams(): Promise<Upstreams> {
  const ca = createTestCa()
  const recorder = await startRecorder({ tls: ca.issue(...HOSTS) })
  const upstream = upstreamSpec(recorder.port, ca.cert)
  const credential = '  credential: { secretRef: { name: stored, key: any } }'
  const rules = TYPES.map(
    (type) => `    - { connectorType: ${type}, actionPattern: '${type}.*', decision: allow }`,
  )
  const manifests = [
    resource('Gateway', 'local', '  rateLimit: { requestsPerMinute: 1000000 }'),
    'apiVersion: v1\nkind: Secret\nmetadata: { name: stored }\nstringData: { any: stored-secret }\n',
    ...TYPES.map((type) =>
      resource('Connector', type.replace('_', '-'), `  type: ${type}\n${credential}\n${upstream}`),
    ),
    resource('Permission', 'all', `  gatewayRefs: [{ name: local }]\n  rules:\n${rules.join('\n')}`),
  ]
  return { recorder, manifests: manifests.join('\n---\n') }
}
