import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { pageSnippets, withReaderValues } from '../support/page-snippets.ts'
import { IS_FULL, queueLookups, size } from '../support/proof.ts'
import {
  CONTROLLER_USER,
  hasGo,
  type SandboxController,
  startSandboxController,
} from './agent-sandbox/controller.ts'
import {
  agentPod,
  CALLS,
  inAgent,
  leftOutside,
  ours,
  podTemplate,
  running,
  startVendor,
  type Vendor,
  WATCHER,
} from './agents.ts'
import { type ControlPlane, openControlPlane } from './control-plane.ts'
import { AGENTS, install, SYSTEM } from './installation.ts'
import { apply, get, type KubeObject, kube, kubectl, startKubectl } from './kubectl.ts'

const GATEWAY = 'sandboxes'
const EXTENSIONS = 'extensions.agents.x-k8s.io/v1beta1'
/** A user whose only right is to create and read claims. */
const CLAIMANT = 'claimant'
const REST_MS = size(30_000, 120_000)
/** Claims on the pool of the page. In the full form most of them start cold. */
const CLAIMS = size(8, 20)
/** Interval of the calls of the agents that show when records name their claim. */
const CALL_MS = 250
/** Time within which a pool of a default template is Ready. */
const READY_MS = 15_000
/** Time within which the status of a Gateway names a pod without a sidecar. */
const BYPASS_MS = 30_000
let controller: SandboxController
let vendor: Vendor
let controlPlane: ControlPlane

type Conditions = { readonly conditions?: ReadonlyArray<{ type: string; status: string; message: string }> }
type Claim = { readonly status?: Conditions & { readonly sandbox?: { readonly name: string } } }
type Pod = {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> }
  readonly spec: {
    readonly dnsPolicy: string
    readonly initContainers?: readonly { readonly name: string }[]
  }
}

beforeAll(async () => {
  if (!hasGo) return
  await install(inject('installation'))
  controller = await startSandboxController()
  vendor = await startVendor(GATEWAY)
  await apply(
    ours('Permission', 'payments', {
      ...{ gatewayRefs: [{ name: GATEWAY }], agents: [`${AGENTS}/payments`] },
      rules: [{ connectorType: 'generic', actionPattern: 'generic.delete', decision: 'allow' }],
    }),
    // Not with the name of the agent, which the pod of a claim takes.
    agentPod('paying', GATEWAY, { annotations: { 'chaperone.dev/agent': 'payments' } }),
    ...claimantRights(),
  )
  controlPlane = await openControlPlane()
  await running('paying')
}, 600_000)
afterAll(async () => {
  await controlPlane?.[Symbol.asyncDispose]()
  await vendor?.[Symbol.asyncDispose]()
  await controller?.[Symbol.asyncDispose]()
}, 240_000)

function claimantRights(): readonly KubeObject[] {
  const metadata = { name: CLAIMANT, namespace: AGENTS }
  const group = 'rbac.authorization.k8s.io'
  return [
    {
      ...{ apiVersion: `${group}/v1`, kind: 'Role', metadata },
      rules: [
        { apiGroups: ['extensions.agents.x-k8s.io'], resources: ['sandboxclaims'], verbs: ['create', 'get'] },
      ],
    },
    {
      ...{ apiVersion: `${group}/v1`, kind: 'RoleBinding', metadata },
      roleRef: { apiGroup: group, kind: 'Role', name: CLAIMANT },
      subjects: [{ apiGroup: group, kind: 'User', name: CLAIMANT }],
    },
  ]
}

/** A template with every default of agent-sandbox, and nothing but the annotation. */
function template(
  name: string,
  spec: object = {},
  annotations?: Readonly<Record<string, string>>,
  podFields: object = {},
): KubeObject {
  const { metadata, spec: podSpec } = podTemplate(GATEWAY, { spec: podFields })
  const podMetadata = annotations === undefined ? metadata : { annotations }
  return {
    ...{ apiVersion: EXTENSIONS, kind: 'SandboxTemplate', metadata: { name, namespace: AGENTS } },
    spec: { podTemplate: { metadata: podMetadata, spec: podSpec }, ...spec },
  }
}

/** The manifests of docs/agent-sandbox.md in the namespace of the tests, with its Gateway and an agent that calls all the time. */
function pageManifests(): string {
  const [manifests = '', ...others] = pageSnippets('agent-sandbox.md', 'yaml')
  expect(others).toEqual([])
  const image = inject('installation').environment.agentImage
  const command = JSON.stringify(['node', '-e', WATCHER, String(CALL_MS)])
  return withReaderValues(manifests, {
    'namespace: agents': `namespace: ${AGENTS}`,
    'chaperone.dev/gateway: default': `chaperone.dev/gateway: ${GATEWAY}`,
    'image: registry.example/agent:1.0.0': `image: ${image}\n          command: ${command}`,
  })
}

function pool(name: string, replicas: number, of = name): KubeObject {
  return {
    ...{ apiVersion: EXTENSIONS, kind: 'SandboxWarmPool', metadata: { name, namespace: AGENTS } },
    spec: { replicas, sandboxTemplateRef: { name: of } },
  }
}

function claim(name: string, of: string, spec: object = {}): KubeObject {
  return {
    ...{ apiVersion: EXTENSIONS, kind: 'SandboxClaim', metadata: { name, namespace: AGENTS } },
    spec: { warmPoolRef: { name: of }, ...spec },
  }
}

async function createAsClaimant(...claims: readonly KubeObject[]): Promise<string | null> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: claims })
  const { code, stderr } = await kubectl(['create', '--as', CLAIMANT, '-f', '-'], input)
  return code === 0 ? null : stderr
}

async function poolReady(name: string, replicas: number, timeoutMs: number): Promise<void> {
  type Pool = { readonly status?: { readonly readyReplicas?: number } }
  const isReady = async () =>
    (await get<Pool>('sandboxwarmpools', name, AGENTS))?.status?.readyReplicas === replicas || null
  await eventually(`pool ${name} has ${replicas} members`, isReady, timeoutMs)
}

const readyOf = (found: Claim | null) => found?.status?.conditions?.find(({ type }) => type === 'Ready')

/** Resolves with the pod of a claim that is Ready. The error of a claim that is not has what the claim and its pod say. */
async function podOf(name: string, timeoutMs = 60_000): Promise<string> {
  const isReady = async () => {
    const found = await get<Claim>('sandboxclaims', name, AGENTS)
    const sandbox = found?.status?.sandbox?.name
    return readyOf(found)?.status === 'True' && sandbox !== undefined ? sandbox : null
  }
  try {
    return await eventually(`claim ${name} is Ready`, isReady, timeoutMs)
  } catch (cause) {
    const found = await get<Claim>('sandboxclaims', name, AGENTS)
    const all = await kubectl(['get', 'pods', '-n', AGENTS])
    const events = await kubectl(['get', 'events', '-n', AGENTS, '--field-selector', 'type=Warning'])
    throw new Error(
      `claim ${name} is not Ready: ${JSON.stringify(found?.status)}\n${all.stdout}\n${events.stdout}`,
      { cause },
    )
  }
}

async function pods(): Promise<readonly Pod[]> {
  const { items } = JSON.parse(await kube(['get', 'pods', '-n', AGENTS, '-o', 'json'])) as { items: Pod[] }
  return items
}

type Traffic = {
  readonly traffic: ReadonlyArray<{
    readonly time: string
    readonly instance?: { readonly claim?: string } | null
  }>
}

type Claims = readonly (string | undefined)[]

/** Resolves with the claims that the records of an agent since a time name; undefined for a record without a claim. */
async function claimsSince(agent: string, sinceMs: number): Promise<Claims> {
  const path = `/api/dashboard/traffic?limit=500&agent=${encodeURIComponent(`${AGENTS}/${agent}`)}`
  const { traffic } = await controlPlane.call<Traffic>('GET', path)
  return traffic.filter(({ time }) => Date.parse(time) >= sinceMs).map(({ instance }) => instance?.claim)
}

/** Resolves with the claims of `claimsSince`, once there are that many. */
async function claimsOf(agent: string, sinceMs: number, calls = 1): Promise<Claims> {
  return eventually(`${calls} calls are recorded`, async () => {
    const found = await claimsSince(agent, sinceMs)
    return found.length >= calls ? found : null
  })
}

/** Sends requests from the pod of a claim until a record names the claim. From then on every record names it. */
async function claimKnown(
  agent: string,
  { pod, claim: name }: { readonly pod: string; readonly claim: string },
): Promise<void> {
  const startedAt = Date.now()
  await eventually(`a record names the claim ${name}`, async () => {
    await inAgent(pod, CALLS.node('GET'))
    return (await claimsSince(agent, startedAt)).includes(name) ? true : null
  })
  console.log(`a record names the claim ${name} after ${Date.now() - startedAt} ms`)
}

/**
 * Resolves with the time of the first record of the pod that names the claim, once there is one around the time at which
 * the claim became Ready. Rejects when a later record does not name it.
 */
async function firstNamed(pod: string, claim: string, readyMs: number): Promise<number | null> {
  const time = (ms: number) => new Date(readyMs + ms).toISOString()
  const query = { limit: '500', instance: `${AGENTS}/${pod}`, from: time(-30_000), to: time(60_000) }
  const { traffic } = await controlPlane.call<Traffic>(
    'GET',
    `/api/dashboard/traffic?${new URLSearchParams(query)}`,
  )
  const claims = traffic.map(({ instance }) => instance?.claim)
  // The newest record is the first.
  const first = claims.lastIndexOf(claim)
  if (first < 0) return null
  expect(new Set(claims.slice(0, first + 1))).toEqual(new Set([claim]))
  // Without a record before it the agent started after the sidecar had the claim: no record lacks it.
  return first === traffic.length - 1 ? readyMs : Date.parse(traffic[first]?.time ?? '')
}

/** Watches the claims, to have the time at which each became Ready: its condition has whole seconds. */
async function watchReadyClaims(): Promise<AsyncDisposable & { of(claim: string): Promise<number> }> {
  const times = new Map<string, number>()
  const lines = '{.metadata.name}{" "}{.status.conditions[?(@.type=="Ready")].status}{"\\n"}'
  const watch = await startKubectl(
    ['get', 'sandboxclaims', '-n', AGENTS, '--watch', '-o', `jsonpath=${lines}`],
    (line) => {
      const [name = '', status] = line.split(' ')
      if (status === 'True' && !times.has(name)) times.set(name, Date.now())
    },
  )
  return {
    of: (claim) => eventually(`${claim} was seen Ready`, () => times.get(claim) ?? null),
    [Symbol.asyncDispose]: () => watch[Symbol.asyncDispose](),
  }
}

/** Resolves with the message of `BypassDetected` once the Gateway names the pod; null before. */
async function bypassed(pod: string): Promise<string | null> {
  const found = await get<{ readonly status?: Conditions }>('cgw', GATEWAY, AGENTS)
  const condition = found?.status?.conditions?.find(({ type }) => type === 'BypassDetected')
  return condition?.status === 'True' && condition.message.includes(pod) ? condition.message : null
}

const hasSidecar = ({ spec }: Pod) =>
  spec.initContainers?.some(({ name }) => name === 'chaperone-proxy') === true

describe.skipIf(!hasGo)('agent-sandbox with its own controller (go)', () => {
  test('a template with all defaults is Ready within 15 s, and its agent is governed', async () => {
    await apply(template('plain'))
    await eventually('the way to the control plane is open', () =>
      get<object>('networkpolicy', 'chaperone-agent-sandbox', AGENTS),
    )
    const startedAt = Date.now()
    await apply(pool('plain', 1))
    await poolReady('plain', 1, READY_MS)
    console.log(`a pool of the default template is Ready after ${Date.now() - startedAt} ms`)
    await apply(claim('first', 'plain'))
    const pod = await podOf('first')
    await claimKnown('plain', { pod, claim: `${AGENTS}/first` })
    const since = Date.now()
    expect((await get<Pod>('pod', pod, AGENTS))?.spec.dnsPolicy).toBe('None')
    expect((await inAgent(pod, CALLS.node('GET'))).stdout).toMatch(/^200/)
    expect(await claimsOf('plain', since)).toEqual([`${AGENTS}/first`])
    expect((await leftOutside(pod)) ?? []).toEqual([])
  })

  // A template with all defaults, and the values of the fields that concern the network of its pods.
  test.skipIf(!IS_FULL).each<[string, object, object]>([
    ['again', {}, {}],
    ['with the DNS servers of the cluster', {}, { dnsPolicy: 'ClusterFirst' }],
    ['without a NetworkPolicy', { networkPolicyManagement: 'Unmanaged' }, {}],
    ['with the token of a ServiceAccount', {}, { automountServiceAccountToken: true }],
  ])('a default template is Ready within 15 s: %s (nightly)', async (what, spec, podSpec) => {
    const name = `default-${what.split(' ').at(-1)?.toLowerCase()}`
    await apply(template(name, spec, undefined, podSpec))
    const startedAt = Date.now()
    await apply(pool(name, 1))
    await poolReady(name, 1, READY_MS)
    console.log(`a default template, ${what}: Ready after ${Date.now() - startedAt} ms`)
    await apply(pool(name, 0))
  })

  test('a user who may only create claims becomes no other agent', async () => {
    expect((await inAgent('paying', CALLS.node('DELETE'))).stdout).toMatch(/^200/)
    const annotated = claim('dave', 'plain', {
      additionalPodMetadata: { annotations: { 'chaperone.dev/agent': 'payments' } },
    })
    const says = await createAsClaimant(annotated)
    expect(says).toContain('chaperone.dev/agent from "" to "payments"')
    expect(says).toContain('set them in spec.podTemplate.metadata of the SandboxTemplate')
    // By its name, and by a cold start at will.
    await apply(template('empty'), pool('empty', 0), template('open', { envVarsInjectionPolicy: 'Allowed' }))
    await apply(pool('open', 0))
    await kube([
      'delete',
      'sandboxclaims/payments',
      'sandboxclaims/payments-env',
      '-n',
      AGENTS,
      '--ignore-not-found',
    ])
    const env = [{ name: 'X', value: 'y', containerName: 'agent' }]
    expect(
      await createAsClaimant(claim('payments', 'empty'), claim('payments-env', 'open', { env })),
    ).toBeNull()
    for (const name of ['payments', 'payments-env']) {
      const pod = await podOf(name)
      const found = await get<Pod>('pod', pod, AGENTS)
      expect(found?.metadata.annotations?.['chaperone.dev/agent']).toBe(
        name === 'payments' ? 'empty' : 'open',
      )
      expect((await inAgent(pod, CALLS.node('DELETE'))).stdout).toMatch(/^403/)
    }
  }, 180_000)

  test(`the page's template: ${CLAIMS} claims on its pool are all governed, and records name the claim`, async () => {
    const names = ['alice', ...Array.from({ length: CLAIMS - 1 }, (_, at) => `crowd-${at}`)]
    const manifests = pageManifests()
    await using ready = await watchReadyClaims()
    await kube(['apply', '-f', '-'], manifests)
    await podOf('alice', 90_000)
    await poolReady('research', Number(/replicas: (\d+)/.exec(manifests)?.[1]), 90_000)
    const startedAt = Date.now()
    await apply(...names.slice(1).map((name) => claim(name, 'research')))
    const members = await Promise.all(names.map((name) => podOf(name, 240_000)))
    console.log(`all claims are Ready after ${Date.now() - startedAt} ms`)
    expect(new Set(members).size).toBe(CLAIMS)
    const all = await pods()
    expect(
      members.filter((pod) => !all.some((each) => each.metadata.name === pod && hasSidecar(each))),
    ).toEqual([])
    const delays: number[] = []
    for (const [at, pod] of members.entries()) {
      const name = `${AGENTS}/${names[at]}`
      const readyMs = await ready.of(names[at] ?? '')
      const firstMs = await eventually(`a record names ${name}`, () => firstNamed(pod, name, readyMs))
      delays.push(Math.max(0, firstMs - readyMs))
    }
    console.log(`from Ready to the first record that names the claim, in ms: ${delays.join(' ')}`)
    const answers = await queueLookups(members.slice(0, 3), 3, (pod) => inAgent(pod, CALLS.node('GET')))
    for (const { stdout, stderr } of answers) expect(stdout, stderr).toMatch(/^200/)
    expect((await leftOutside(...members)) ?? []).toEqual([])
    await kube([
      'delete',
      'sandboxwarmpool/research',
      ...names.map((name) => `sandboxclaim/${name}`),
      '-n',
      AGENTS,
    ])
  }, 420_000)

  test('governance that comes late hands out no ungoverned pod, and a pool can be turned over', {
    timeout: 240_000,
  }, async () => {
    await apply(template('late', {}, {}), pool('late', 1))
    await poolReady('late', 1, 60_000)
    const unclaimed = JSON.parse(await kube(['get', 'sandboxes', '-n', AGENTS, '-o', 'json'])) as {
      items: { metadata: { name: string } }[]
    }
    const member = unclaimed.items
      .map(({ metadata }) => metadata.name)
      .find((name) => name.startsWith('late'))
    const startedAt = Date.now()
    await apply(template('late'))
    // Nothing else happens to the Gateway meanwhile.
    const condition = await eventually('the Gateway says so', () => bypassed(member ?? ''), BYPASS_MS)
    console.log(`BypassDetected after ${Date.now() - startedAt} ms: ${condition}`)
    await apply(claim('too-early', 'late'))
    const says = await eventually(
      'the claim is refused, or has a governed pod',
      async () => {
        const found = await get<Claim>('sandboxclaims', 'too-early', AGENTS)
        const ready = readyOf(found)
        if (ready?.status === 'True') return 'Ready'
        return ready?.message.includes('chaperone') === true ? ready.message : null
      },
      60_000,
    )
    console.log(`late governance: ${says}`)
    const all = await pods()
    const loose = all.filter((pod) => pod.metadata.annotations?.['chaperone.dev/gateway'] && !hasSidecar(pod))
    expect(loose).toEqual([])
    const claimed = (await get<Claim>('sandboxclaims', 'too-early', AGENTS))?.status?.sandbox?.name
    if (says === 'Ready') expect(claimed).not.toBe(member)
    else expect(says).toMatch(/only a new pod gets a sidecar|the Sandbox has a pod/)
    await kube(['delete', 'sandboxclaim', 'too-early', '-n', AGENTS])
    await apply(pool('late', 0))
    await eventually(
      'the member is gone',
      async () => ((await get<object>('pod', member ?? '', AGENTS)) === null ? true : null),
      60_000,
    )
    await apply(pool('late', 1))
    await poolReady('late', 1, 60_000)
    await apply(claim('in-time', 'late'))
    const pod = await get<Pod>('pod', await podOf('in-time'), AGENTS)
    expect(pod !== null && hasSidecar(pod)).toBe(true)
  })

  test(
    'an idle operator writes nothing',
    async ({ skip }) => {
      const { auditRecord } = inject('installation').environment
      if (auditRecord === null) return skip('needs CHAPERONE_AUDIT_RECORD')
      // What the test before has started.
      await new Promise((resolve) => setTimeout(resolve, 10_000))
      const since = new Date().toISOString()
      await new Promise((resolve) => setTimeout(resolve, REST_MS))
      type Event = {
        readonly verb: string
        readonly requestReceivedTimestamp: string
        readonly user: { readonly username: string }
        readonly objectRef?: {
          readonly resource: string
          readonly name?: string
          readonly namespace?: string
        }
        readonly responseStatus?: { readonly code?: number }
      }
      const ofWorkloads = [
        'pods',
        'services',
        'sandboxes',
        'sandboxclaims',
        'sandboxwarmpools',
        'sandboxtemplates',
        'networkpolicies',
      ]
      const writes = readFileSync(auditRecord, 'utf8')
        .split('\n')
        .filter((line) => line.includes(CONTROLLER_USER) || line.includes(`system:serviceaccount:${SYSTEM}:`))
        .map((line) => JSON.parse(line) as Event)
        .filter(({ requestReceivedTimestamp, verb, objectRef }) => {
          const isWrite = !['get', 'list', 'watch'].includes(verb)
          const isMeant = objectRef?.namespace === AGENTS && ofWorkloads.includes(objectRef.resource)
          return requestReceivedTimestamp >= since && isWrite && isMeant
        })
      expect(
        writes.map(({ verb, user, objectRef, responseStatus }) => [
          verb,
          user.username,
          objectRef,
          responseStatus?.code,
        ]),
      ).toEqual([])
    },
    REST_MS + 60_000,
  )
})
