import { readFileSync } from 'node:fs'
import { inject } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type Recorder, startRecorder } from '../support/recorder.ts'
import { createTestCa } from '../support/test-ca.ts'
import { AGENTS, secret } from './installation.ts'
import { apply, exec, get, type KubeObject, kube, type Ran } from './kubectl.ts'

/** What agents call; no name server knows it but the sidecars'. */
export const VENDOR = 'api.vendor.test'
export const CREDENTIAL = 'upstream-credential-7f3a'
const OURS = 'chaperone.dev/v1alpha1'

export type Vendor = AsyncDisposable & { readonly recorder: Recorder }
type Rule = { readonly actionPattern: string; readonly decision: 'allow' | 'deny' | 'require_approval' }

const RULES: readonly Rule[] = [
  { actionPattern: 'generic.get', decision: 'allow' },
  { actionPattern: 'generic.post', decision: 'require_approval' },
  { actionPattern: 'generic.delete', decision: 'deny' },
]

/** A vendor on this machine, and a Gateway whose agents may read there, ask before they write and never delete. */
export async function startVendor(gateway: string, spec: object = {}): Promise<Vendor> {
  const { environment } = inject('installation')
  const ca = createTestCa()
  const recorder = await startRecorder({ tls: ca.issue(VENDOR) })
  const upstream = {
    url: `https://${environment.hostAddress}:${recorder.port}`,
    caBundle: ca.cert,
    allowPrivateAddresses: true,
  }
  await apply(
    ours('Gateway', gateway, spec),
    secret(AGENTS, gateway, { token: CREDENTIAL }),
    ours('Connector', gateway, {
      ...{ type: 'generic', gatewayRefs: [{ name: gateway }], domains: [VENDOR], upstream },
      ...{ auth: { type: 'bearer' }, credential: { secretRef: { name: gateway } } },
    }),
    ours('Permission', gateway, {
      gatewayRefs: [{ name: gateway }],
      rules: RULES.map((rule) => ({ connectorType: 'generic', ...rule })),
    }),
  )
  return {
    recorder,
    async [Symbol.asyncDispose]() {
      await recorder.close()
    },
  }
}

export function ours(kind: string, name: string, spec: object): KubeObject {
  return { apiVersion: OURS, kind, metadata: { name, namespace: AGENTS }, spec }
}

export type PodShape = {
  readonly annotations?: Readonly<Record<string, string>>
  readonly container?: object
  readonly spec?: object
  readonly command?: readonly string[]
}

/** What somebody writes who has never heard of sidecars, and one annotation. */
export function agentPod(name: string, gateway: string, shape: PodShape = {}): KubeObject {
  const metadata = { name, namespace: AGENTS, ...podTemplate(gateway, shape).metadata }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: podTemplate(gateway, shape).spec }
}

export function podTemplate(gateway: string, shape: PodShape = {}) {
  const { annotations = {}, container = {}, spec = {}, command = ['sleep', 'infinity'] } = shape
  const image = inject('installation').environment.agentImage
  return {
    metadata: { annotations: { 'chaperone.dev/gateway': gateway, ...annotations } },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'agent', image, imagePullPolicy: 'IfNotPresent', command, ...container }],
      ...spec,
    },
  }
}

export async function running(...names: readonly string[]): Promise<void> {
  const pods = names.map((name) => `pod/${name}`)
  await kube(['wait', '-n', AGENTS, '--for=condition=Ready', '--timeout=90s', ...pods])
}

/** Runs a program in the agent's container of a pod. */
export function inAgent(pod: string, command: readonly string[]): Promise<Ran> {
  return exec({ pod, namespace: AGENTS }, command)
}

/** What the clients of two runtimes say, with nothing but what the image has; `STATUS BODY`. */
export const CALLS = {
  node: (method: string, path = '/things') => [
    ...['node', '-e'],
    `fetch('https://${VENDOR}${path}', { method: '${method}' }).then(async (r) => console.log(r.status, await r.text()), (e) => console.log('failed', e.cause?.code ?? e.message))`,
  ],
  python: (method: string, path = '/things') => [
    ...['python3', '-c'],
    `import urllib.request, urllib.error
try:
  r = urllib.request.urlopen(urllib.request.Request('https://${VENDOR}${path}', method='${method}'))
except urllib.error.HTTPError as e:
  r = e
print(r.status, r.read().decode())`,
  ],
} as const

/** Asks every 100 ms, or as many as the first argument says, and prints a line with the time when the answer changes. */
export const WATCHER = `
const https = require('node:https')
let last = ''
const everyMs = Number(process.argv[1] ?? 100)
const agent = new https.Agent({ keepAlive: true })
function ask() {
  const request = https.get('https://${VENDOR}/watch', { agent }, (response) => {
    response.resume().on('end', () => note(response.statusCode))
  })
  request.on('error', (error) => note(error.code))
}
function note(now) {
  if (String(now) !== last) console.log(Date.now(), now)
  last = String(now)
  setTimeout(ask, everyMs)
}
process.on('SIGTERM', () => process.exit())
ask()`

type Packet = {
  readonly kind: string
  readonly src?: string
  readonly dst?: string
  readonly dport?: number
}

/** What left for nowhere, by the addresses of these pods. Null where nobody keeps a record. */
export async function leftOutside(...pods: readonly string[]): Promise<readonly Packet[] | null> {
  const addresses = new Set((await Promise.all(pods.map(addressesOf))).flat())
  return packets(({ src = '' }) => addresses.has(src))
}

/** What left for these addresses, whoever sent it. */
export async function leftFor(addresses: readonly string[]): Promise<readonly Packet[] | null> {
  return packets(({ dst = '' }) => addresses.includes(dst.replace(/:\d+$/, '')))
}

function packets(isMeant: (packet: Packet) => boolean): readonly Packet[] | null {
  const { outsideRecord } = inject('installation').environment
  if (outsideRecord === null) return null
  return readFileSync(outsideRecord, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Packet)
    .filter((packet) => packet.kind === 'outside' && isMeant(packet))
}

async function addressesOf(pod: string): Promise<readonly string[]> {
  type Status = { readonly status: { readonly podIPs?: ReadonlyArray<{ readonly ip: string }> } }
  const found = await get<Status>('pod', pod, AGENTS)
  return found?.status.podIPs?.map(({ ip }) => ip) ?? []
}

/** The control plane publishes what this Gateway says now, and every connected gateway process has applied it. */
export async function inForce(gateway: string): Promise<void> {
  type Object = {
    readonly metadata: { readonly generation: number }
    readonly status?: {
      readonly gateways?: { readonly connected?: number; readonly current?: number }
      readonly conditions?: ReadonlyArray<{
        readonly type: string
        readonly status: string
        readonly observedGeneration: number
      }>
    }
  }
  await eventually(
    `Gateway ${gateway} is in force`,
    async () => {
      const found = await get<Object>('gateways.chaperone.dev', gateway, AGENTS)
      const programmed = found?.status?.conditions?.find(({ type }) => type === 'Programmed')
      const { connected, current } = found?.status?.gateways ?? {}
      const isPublished =
        programmed?.status === 'True' && programmed.observedGeneration === found?.metadata.generation
      return isPublished && connected !== undefined && connected === current ? true : null
    },
    90_000,
  )
}
