import { Agent, type RequestOptions, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { KubeConfig } from '@kubernetes/client-node'

const CORE = '/api/v1'
const OURS = '/apis/chaperone.dev/v1alpha1'
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
const SANDBOX = '/apis/extensions.agents.x-k8s.io/v1beta1'

/** API and plural of what the tests read, by the name that kubectl knows. */
const RESOURCES: Readonly<Record<string, readonly [api: string, plural: string]>> = {
  ...ofKinds(CORE, ['configmap', 'namespace', 'pod', 'secret']),
  ...ofKinds('/apis/apps/v1', ['deployment']),
  ...ofKinds('/apis/coordination.k8s.io/v1', ['lease']),
  ...ofKinds('/apis/rbac.authorization.k8s.io/v1', ['role']),
  ...ofKinds(ADMISSION, ['mutatingwebhookconfiguration', 'validatingadmissionpolicybinding']),
  validatingadmissionpolicy: [ADMISSION, 'validatingadmissionpolicies'],
  networkpolicy: ['/apis/networking.k8s.io/v1', 'networkpolicies'],
  'endpointslices.discovery.k8s.io': ['/apis/discovery.k8s.io/v1', 'endpointslices'],
  sandboxclaims: [SANDBOX, 'sandboxclaims'],
  sandboxwarmpools: [SANDBOX, 'sandboxwarmpools'],
  ...ofOurs('cgw', 'gateways'),
  ...ofOurs('ccon', 'connectors'),
  ...ofOurs('cperm', 'permissions'),
  ...ofOurs('cpol', 'policies'),
}

function ofKinds(api: string, kinds: readonly string[]) {
  return Object.fromEntries(kinds.map((kind) => [kind, [api, `${kind}s`] as const]))
}

function ofOurs(short: string, plural: string) {
  return { [short]: [OURS, plural] as const, [`${plural}.chaperone.dev`]: [OURS, plural] as const }
}

const agent = new Agent({ keepAlive: true })
let credentials: Promise<RequestOptions> | undefined

/**
 * Reads an object in this process: a test that waits for a change reads often, and each start of kubectl takes 100 to 200 ms of
 * the cores that the change needs. Resolves with null when there is no such object.
 */
export async function readObject<T>(kind: string, name: string, namespace?: string): Promise<T | null> {
  const found = RESOURCES[kind]
  if (found === undefined) throw new Error(`${kind} is not among the resources of ${import.meta.filename}`)
  const [api, plural] = found
  const place = namespace === undefined ? '' : `/namespaces/${namespace}`
  const { status, body } = await call(`${api}${place}/${plural}/${encodeURIComponent(name)}`)
  if (status === 200) return JSON.parse(body) as T
  // An API that is not served has no answer in JSON.
  const isMissing = status === 404 && body.includes('"reason":"NotFound"') && body.includes('"details"')
  if (isMissing) return null
  throw new Error(`${kind} ${name}: ${status} ${body}`)
}

/**
 * Creates a pod without storing it (`dryRun`). Resolves with the admitted pod, or with the message of the refusal.
 */
export async function admit<T>(
  pod: object,
  namespace: string,
): Promise<{ readonly pod: T } | { readonly refusal: string }> {
  const { status, body } = await call(`${CORE}/namespaces/${namespace}/pods?dryRun=All`, pod)
  return status === 201 ? { pod: JSON.parse(body) as T } : { refusal: body }
}

async function call(
  path: string,
  object?: object,
): Promise<{ readonly status: number; readonly body: string }> {
  credentials ??= connection()
  const options = await credentials
  return new Promise((resolve, reject) => {
    const asked = request({
      ...options,
      agent,
      path,
      method: object === undefined ? 'GET' : 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json', ...options.headers },
    })
    asked.once('error', reject)
    asked.once('response', (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject)
    })
    asked.end(object === undefined ? undefined : JSON.stringify(object))
  })
}

async function connection(): Promise<RequestOptions> {
  const config = new KubeConfig()
  config.loadFromDefault()
  const { hostname, port } = new URL(config.getCurrentCluster()?.server ?? '')
  const options: RequestOptions = { hostname, port }
  await config.applyToHTTPSOptions(options)
  return options
}
