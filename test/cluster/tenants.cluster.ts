import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { type Recorder, startRecorder } from '../support/recorder.ts'
import { createTestCa } from '../support/test-ca.ts'
import { CALLS, podTemplate, VENDOR } from './agents.ts'
import { AGENTS, install, secret } from './installation.ts'
import { apply, exec, get, type KubeObject, kube } from './kubectl.ts'

const PLATFORM = 'chaperone-test-platform'
const OTHER = 'chaperone-test-other'
const SECRET = 'credential-of-a-tenant-51c0'
const EVERYBODY = { from: 'All' }
const OPEN = {
  allowedNamespaces: {
    ...{ permissions: EVERYBODY, policies: EVERYBODY, connectors: EVERYBODY, agents: EVERYBODY },
  },
}
let upstream: Recorder
let connector: object

beforeAll(async () => {
  await install(inject('installation'))
  const ca = createTestCa()
  upstream = await startRecorder({ tls: ca.issue(VENDOR) })
  const url = `https://${inject('installation').environment.hostAddress}:${upstream.port}`
  connector = {
    ...{ type: 'generic', domains: [VENDOR], auth: { type: 'bearer' } },
    upstream: { url, caBundle: ca.cert, allowPrivateAddresses: true },
    credential: { secretRef: { name: 'tenant' } },
  }
  for (const name of [PLATFORM, OTHER])
    await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  await apply(secret(AGENTS, 'tenant', { token: SECRET }))
}, 300_000)
afterAll(async () => {
  await upstream?.close()
  // What is left would be refused for ever: its Gateways are gone.
  const made = ['pod/owner', 'pod/guest', 'secret/tenant']
  const ours = ['ccon/payroll', 'ccon/shared', 'cperm/stolen', 'cperm/shared', 'cpol/never', 'cgw/stolen']
  await kube(['delete', ...made, ...ours, '-n', AGENTS, '--ignore-not-found', '--timeout=90s'])
  await kube(['delete', 'namespace', PLATFORM, OTHER, '--ignore-not-found', '--timeout=90s'])
}, 120_000)

const object = (kind: string, namespace: string, name: string, spec: object): KubeObject => ({
  ...{ apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace }, spec },
})
const rules = (...decided: ReadonlyArray<readonly [string, string]>) =>
  decided.map(([actionPattern, decision]) => ({ connectorType: 'generic', actionPattern, decision }))

async function startAgent(namespace: string, name: string, gateway: string): Promise<void> {
  const { metadata, spec } = podTemplate(gateway)
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, ...metadata }, spec }
  // The webhook knows a Gateway a moment after the API server.
  const isAdmitted = () =>
    apply(pod).then(
      () => true,
      (error: unknown) => {
        if (String(error).includes('is not a Gateway')) return null
        throw error
      },
    )
  await eventually('the pod is admitted', isAdmitted, 30_000)
  await kube(['wait', '-n', namespace, '--for=condition=Ready', '--timeout=90s', `pod/${name}`])
}

async function call(namespace: string, pod: string, method: string): Promise<string> {
  const { stdout } = await exec({ pod, namespace }, CALLS.node(method))
  return stdout.slice(0, 3)
}

/** The reason of a condition, once the operator has judged this generation. */
async function judged(kind: string, namespace: string, name: string, type: string): Promise<string> {
  type Object = {
    readonly metadata: { readonly generation: number }
    readonly status?: {
      readonly conditions?: ReadonlyArray<{ type: string; reason: string; observedGeneration: number }>
    }
  }
  return eventually(
    `${kind} ${namespace}/${name} is judged`,
    async () => {
      const found = await get<Object>(`${kind}.chaperone.dev`, name, namespace)
      const condition = found?.status?.conditions?.find((one) => one.type === type)
      const isCurrent = condition?.observedGeneration === found?.metadata.generation
      return condition !== undefined && isCurrent && condition.reason !== 'Pending' ? condition.reason : null
    },
    60_000,
  )
}

test('a Gateway of the name that a Connector references delivers its credential to no other namespace', async () => {
  await apply(
    object('Gateway', OTHER, 'stolen', OPEN),
    object('Permission', OTHER, 'all', {
      ...{ gatewayRefs: [{ name: 'stolen' }], rules: rules(['generic.*', 'allow']) },
    }),
    object('Connector', AGENTS, 'payroll', { ...connector, gatewayRefs: [{ name: 'stolen' }] }),
  )
  expect(await judged('connectors', AGENTS, 'payroll', 'ResolvedRefs')).toBe('GatewayNotFound')
  await startAgent(OTHER, 'thief', 'stolen')
  for (let attempt = 0; attempt < 5; attempt++) expect(await call(OTHER, 'thief', 'GET')).not.toBe('200')
  expect(upstream.seen).toEqual([])
  // Its owner has it as soon as it makes the Gateway.
  await apply(
    object('Gateway', AGENTS, 'stolen', {}),
    object('Permission', AGENTS, 'stolen', {
      ...{ gatewayRefs: [{ name: 'stolen' }], rules: rules(['generic.*', 'allow']) },
    }),
  )
  await startAgent(AGENTS, 'owner', 'stolen')
  await eventually(
    'its owner uses it',
    async () => (await call(AGENTS, 'owner', 'GET')) === '200' || null,
    60_000,
  )
  expect(await call(OTHER, 'thief', 'GET')).not.toBe('200')
  expect(new Set(upstream.seen.map((seen) => seen.header('authorization')))).toEqual(
    new Set([`Bearer ${SECRET}`]),
  )
}, 300_000)

test('what a tenant makes takes no denial of another one out of force, and no call of it', async () => {
  const shared = { gatewayRefs: [{ name: 'shared', namespace: PLATFORM }] }
  await apply(
    object('Gateway', PLATFORM, 'shared', OPEN),
    object('Connector', AGENTS, 'shared', { ...connector, ...shared }),
    object('Permission', AGENTS, 'shared', {
      ...{ ...shared, rules: rules(['generic.*', 'allow'], ['generic.put', 'deny']) },
    }),
    object('Policy', AGENTS, 'never', {
      ...{ ...shared, scope: { actions: ['generic.delete'] }, rules: [{ name: 'never', decision: 'deny' }] },
    }),
  )
  await startAgent(AGENTS, 'guest', `${PLATFORM}/shared`)
  await eventually(
    'it is let through',
    async () => (await call(AGENTS, 'guest', 'GET')) === '200' || null,
    60_000,
  )
  const from = upstream.seen.length
  const deeds = [
    object('Gateway', OTHER, 'shared', OPEN),
    object('Policy', OTHER, 'allows', {
      ...{ ...shared, priority: 1_000_000, rules: [{ name: 'r', decision: 'allow' }] },
    }),
    object('Policy', OTHER, 'denies', { ...shared, rules: [{ name: 'r', decision: 'deny' }] }),
    object('Permission', OTHER, 'exact', {
      ...{ ...shared, rules: rules(['generic.delete', 'allow'], ['generic.get', 'deny']) },
    }),
    object('Connector', OTHER, 'wide', { ...connector, ...shared, domains: ['*.vendor.test'] }),
  ]
  for (const deed of deeds) {
    await apply(deed)
    const { kind, metadata } = deed
    const plural = kind === 'Policy' ? 'policies' : `${kind.toLowerCase()}s`
    await judged(plural, OTHER, metadata.name, 'Accepted')
    expect(await call(AGENTS, 'guest', 'GET'), metadata.name).toBe('200')
    expect(await call(AGENTS, 'guest', 'PUT'), metadata.name).toBe('403')
    expect(await call(AGENTS, 'guest', 'DELETE'), metadata.name).toBe('403')
  }
  expect(await judged('connectors', OTHER, 'wide', 'Accepted')).toBe('Conflict')
  // The Gateway admits it no more: its denials stay.
  await apply(object('Gateway', PLATFORM, 'shared', { allowedNamespaces: { agents: EVERYBODY } }))
  await judged('policies', AGENTS, 'never', 'Accepted')
  expect(await call(AGENTS, 'guest', 'DELETE')).not.toBe('200')
  expect(new Set(upstream.seen.slice(from).map(({ method }) => method))).toEqual(new Set(['GET']))
}, 300_000)
