import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
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
} from './agents.ts'
import { type ControlPlane, openControlPlane } from './control-plane.ts'
import { AGENTS, install, SYSTEM } from './installation.ts'
import { apply, get, type KubeObject, kube, kubectl } from './kubectl.ts'

const GATEWAY = 'sandboxes'
const EXTENSIONS = 'extensions.agents.x-k8s.io/v1beta1'
/** A user whose only right is to create and read claims. */
const CLAIMANT = 'claimant'
const REST_MS = process.env['CHAPERONE_PROOF'] === 'full' ? 120_000 : 60_000
/** Time after which a sidecar knows the claim that has adopted its pod. */
const KNOWN_MS = 2_000
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
): KubeObject {
  const { metadata, spec: podSpec } = podTemplate(GATEWAY)
  const podMetadata = annotations === undefined ? metadata : { annotations }
  return {
    ...{ apiVersion: EXTENSIONS, kind: 'SandboxTemplate', metadata: { name, namespace: AGENTS } },
    spec: { podTemplate: { metadata: podMetadata, spec: podSpec }, ...spec },
  }
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

/** Resolves with the pod of a claim that is Ready. */
async function podOf(name: string, timeoutMs = 60_000): Promise<string> {
  return eventually(
    `claim ${name} is Ready`,
    async () => {
      const found = await get<Claim>('sandboxclaims', name, AGENTS)
      const sandbox = found?.status?.sandbox?.name
      return readyOf(found)?.status === 'True' && sandbox !== undefined ? sandbox : null
    },
    timeoutMs,
  )
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

/** Resolves with the claims that the records of an agent since a time name; undefined for a record without a claim. */
async function claimsOf(agent: string, sinceMs: number): Promise<readonly (string | undefined)[]> {
  const path = `/api/dashboard/traffic?limit=500&agent=${encodeURIComponent(`${AGENTS}/${agent}`)}`
  return eventually('the call is recorded', async () => {
    const { traffic } = await controlPlane.call<Traffic>('GET', path)
    const found = traffic.filter(({ time }) => Date.parse(time) >= sinceMs)
    return found.length > 0 ? found.map(({ instance }) => instance?.claim) : null
  })
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
    await poolReady('plain', 1, 60_000)
    const took = Date.now() - startedAt
    console.log(`a pool of the default template is Ready after ${took} ms`)
    expect(took).toBeLessThan(15_000)
    await apply(claim('first', 'plain'))
    const pod = await podOf('first')
    // From then on every record names the claim.
    await new Promise((resolve) => setTimeout(resolve, KNOWN_MS))
    const since = Date.now()
    expect((await get<Pod>('pod', pod, AGENTS))?.spec.dnsPolicy).toBe('None')
    expect((await inAgent(pod, CALLS.node('GET'))).stdout).toMatch(/^200/)
    expect(await claimsOf('plain', since)).toEqual([`${AGENTS}/first`])
    expect((await leftOutside(pod)) ?? []).toEqual([])
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

  test('20 claims on a pool of 5 are all governed, and records name the claim', async () => {
    await apply(template('crowd'), pool('crowd', 5))
    await poolReady('crowd', 5, 90_000)
    const names = Array.from({ length: 20 }, (_, at) => `crowd-${at}`)
    const startedAt = Date.now()
    await apply(...names.map((name) => claim(name, 'crowd')))
    const members = await Promise.all(names.map((name) => podOf(name, 150_000)))
    console.log(`20 claims on a pool of 5 are Ready after ${Date.now() - startedAt} ms`)
    expect(new Set(members).size).toBe(20)
    const all = await pods()
    expect(
      members.filter((pod) => !all.some((each) => each.metadata.name === pod && hasSidecar(each))),
    ).toEqual([])
    for (const pod of members.slice(0, 3))
      expect((await inAgent(pod, CALLS.node('GET'))).stdout).toMatch(/^200/)
    const path = `/api/dashboard/traffic?limit=500&agent=${encodeURIComponent(`${AGENTS}/crowd`)}`
    await eventually('the records name the claims', async () => {
      const { traffic } = await controlPlane.call<Traffic>('GET', path)
      const claims = new Set(traffic.map(({ instance }) => instance?.claim))
      return names.slice(0, 3).every((name) => claims.has(`${AGENTS}/${name}`)) ? true : null
    })
    expect((await leftOutside(...members)) ?? []).toEqual([])
  }, 300_000)

  test('governance that comes late hands out no ungoverned pod, and a pool can be turned over', async () => {
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
    const condition = await eventually('the Gateway says so', () => bypassed(member ?? ''), 60_000)
    const took = Date.now() - startedAt
    console.log(`BypassDetected after ${took} ms: ${condition}`)
    expect(took).toBeLessThan(30_000)
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
    else expect(says).toMatch(/only a new pod gets one|the pod of the Sandbox exists/)
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
  }, 240_000)

  test(
    'nobody writes at rest',
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
