import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { compiled, hasProgram } from '../capture/clients/programs.ts'
import { C } from '../capture/clients/sources.ts'
import { HOST } from '../capture/sidecar.ts'
import { eventually } from '../support/eventually.ts'
import { IS_FULL } from '../support/proof.ts'
import {
  agentPod,
  CALLS,
  CREDENTIAL,
  inAgent,
  inForce,
  leftOutside,
  ours,
  podTemplate,
  running,
  startVendor,
  VENDOR,
  type Vendor,
} from './agents.ts'
import { type ControlPlane, openControlPlane } from './control-plane.ts'
import { AGENTS, install, SYSTEM } from './installation.ts'
import { apply, exec, get, helm, kube, kubectl, refusalOf } from './kubectl.ts'

const GATEWAY = 'life'
/** That of its pods, whatever the Service's is. */
const PLANE_PORT = 3443
let vendor: Vendor
let controlPlane: ControlPlane

beforeAll(async () => {
  await install(inject('installation'))
  vendor = await startVendor(GATEWAY)
  controlPlane = await openControlPlane()
  await apply(agentPod('bot', GATEWAY))
  await running('bot')
  await inForce(GATEWAY)
})
afterAll(async () => {
  await controlPlane?.[Symbol.asyncDispose]()
  await vendor?.[Symbol.asyncDispose]()
})

type Approval = { readonly id: string; readonly status: string }
type WithStatus = {
  readonly status?: {
    readonly conditions?: ReadonlyArray<{ readonly type: string; readonly status: string }>
  }
}
async function conditionOf(
  kind: string,
  name: string,
  wanted: string,
  namespace = AGENTS,
): Promise<string | null> {
  const found = await get<WithStatus>(kind, name, namespace)
  return found?.status?.conditions?.find(({ type }) => type === wanted)?.status ?? null
}
const pending = async () =>
  (
    await controlPlane.call<{ readonly approvals: readonly Approval[] }>(
      'GET',
      '/api/dashboard/proxy-approvals?status=pending',
    )
  ).approvals

test('helm test verifies the installation: one pod is governed, another refused', async () => {
  const said = await helm(['test', 'chaperone', '-n', SYSTEM, '--logs', '--timeout', '90s'])
  expect(said).toContain('an annotated pod gets chaperone-rules and chaperone-proxy')
  expect(said).toContain('spec.hostNetwork')
})

test.each(['node', 'python'] as const)(
  'an unchanged image as root reaches the vendor with %s, and never holds the credential',
  async (client) => {
    const before = vendor.recorder.seen.length
    expect((await inAgent('bot', ['id', '-u'])).stdout.trim()).toBe('0')
    expect((await inAgent('bot', CALLS[client]('GET'))).stdout).toBe('200 {"ok":true}\n')
    expect(vendor.recorder.seen.length).toBe(before + 1)
    expect(vendor.recorder.seen.at(-1)?.header('authorization')).toBe(`Bearer ${CREDENTIAL}`)
  },
)

test.each(['node', 'python'] as const)(
  'a denied call of %s ends in the pod, with words that help',
  async (client) => {
    const before = vendor.recorder.seen.length
    const { stdout } = await inAgent('bot', CALLS[client]('DELETE'))
    expect(stdout).toMatch(/^403 /)
    expect(stdout).toContain('generic.delete')
    expect(vendor.recorder.seen.length).toBe(before)
  },
)

test('a call that needs a person waits for one, and goes on when it is approved', async () => {
  const before = vendor.recorder.seen.length
  const answered = inAgent('bot', CALLS.node('POST'))
  const [approval] = await eventually('somebody is asked', async () => {
    const waiting = await pending()
    return waiting.length > 0 ? waiting : null
  })
  expect(vendor.recorder.seen.length).toBe(before)
  await controlPlane.call('POST', '/api/dashboard/proxy-approvals', { id: approval?.id, approved: true })
  expect((await answered).stdout).toBe('200 {"ok":true}\n')
  expect(vendor.recorder.seen.length).toBe(before + 1)
  expect(await pending()).toEqual([])
})

test('the status counts pods, and processes that have what is written', async () => {
  const columns = await kube(['get', 'cgw', GATEWAY, '-n', AGENTS, '--no-headers'])
  expect(columns.split(/\s+/).slice(0, 4)).toEqual([GATEWAY, 'full_enforce', 'transparent', '1'])
  type Object = { readonly status?: { readonly pods?: object; readonly gateways?: object } }
  await eventually('the counts are written', async () => {
    const { pods, gateways } = (await get<Object>('gateways.chaperone.dev', GATEWAY, AGENTS))?.status ?? {}
    return isDeepStrictEqual(
      [pods, gateways],
      [
        { governed: 1, ready: 1 },
        { connected: 1, current: 1 },
      ],
    )
      ? true
      : null
  })
})

test('a changed Secret is what a request carries 5 s later at the latest, and the former one is never sent again', async () => {
  const patch = { stringData: { token: 'rotated-credential' } }
  const carried = () => vendor.recorder.seen.map((each) => each.header('authorization'))
  await kube(['patch', 'secret', GATEWAY, '-n', AGENTS, '-p', JSON.stringify(patch)])
  const changedAt = performance.now()
  try {
    const elapsedMs = await eventually('the new credential arrives', async () => {
      // The time counts until the request starts, because kubectl takes up to seconds to run it.
      const startedMs = performance.now() - changedAt
      await inAgent('bot', CALLS.node('GET'))
      return carried().at(-1) === 'Bearer rotated-credential' ? startedMs : null
    })
    console.log(`the changed Secret was sent ${Math.round(elapsedMs)} ms after the change`)
    expect(elapsedMs).toBeLessThanOrEqual(5_000)
    const from = vendor.recorder.seen.length
    for (let round = 0; round < 5; round++)
      await Promise.all(Array.from({ length: 4 }, () => inAgent('bot', CALLS.node('GET'))))
    expect(carried().slice(from)).toHaveLength(20)
    expect(new Set(carried().slice(from))).toEqual(new Set(['Bearer rotated-credential']))
  } finally {
    await kube([
      'patch',
      'secret',
      GATEWAY,
      '-n',
      AGENTS,
      '-p',
      JSON.stringify({ stringData: { token: CREDENTIAL } }),
    ])
  }
})

test('kubectl stops every agent of a Gateway, and lets them go again', async () => {
  const kill = (active: boolean) =>
    kube([
      'patch',
      'cgw',
      GATEWAY,
      '-n',
      AGENTS,
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { killSwitch: { active, reason: 'drill' } } }),
    ])
  await kill(true)
  await eventually('the kill switch arrives', async () =>
    (await inAgent('bot', CALLS.node('GET'))).stdout.startsWith('403') ? true : null,
  )
  const before = vendor.recorder.seen.length
  expect((await inAgent('bot', CALLS.python('GET'))).stdout).toContain('Kill switch active')
  expect(vendor.recorder.seen.length).toBe(before)
  await eventually('the status says it', async () =>
    (await conditionOf('cgw', GATEWAY, 'KillSwitchActive')) === 'True' ? true : null,
  )
  await kill(false)
  await eventually('calls pass again', async () =>
    (await inAgent('bot', CALLS.node('GET'))).stdout.startsWith('200') ? true : null,
  )
})

test('a Job completes, and its sidecar ends with it', async () => {
  const template = podTemplate(GATEWAY, {
    command: CALLS.node('GET', '/job'),
    spec: { restartPolicy: 'Never' },
  })
  await apply({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'once', namespace: AGENTS },
    spec: { backoffLimit: 0, template },
  })
  await kube(['wait', 'job/once', '-n', AGENTS, '--for=condition=Complete', '--timeout=60s'])
  expect((await kubectl(['logs', 'job/once', '-c', 'agent', '-n', AGENTS])).stdout).toBe('200 {"ok":true}\n')
  expect(vendor.recorder.seen.some(({ target }) => target === '/job')).toBe(true)
})

test('a Deployment rolls while its agents stay governed', async () => {
  const deployment = (version: string) => {
    const template = podTemplate(GATEWAY)
    return {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'fleet', namespace: AGENTS },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'fleet' } },
        template: { ...template, metadata: { ...template.metadata, labels: { app: 'fleet', version } } },
      },
    }
  }
  for (const version of ['one', 'two']) {
    await apply(deployment(version))
    await kube(['rollout', 'status', 'deployment/fleet', '-n', AGENTS, '--timeout=90s'])
  }
  const names = (await kube(['get', 'pods', '-n', AGENTS, '-l', 'app=fleet,version=two', '-o', 'name']))
    .trim()
    .split('\n')
  for (const name of names) {
    const { stdout } = await exec({ pod: name, namespace: AGENTS }, CALLS.node('GET'))
    expect(stdout).toBe('200 {"ok":true}\n')
  }
  // The agent is the workload, whichever pod it is.
  const agents = await controlPlane.call<{ agents: Array<{ name: string }> }>('GET', '/api/dashboard/agents')
  expect(agents.agents.map(({ name }) => name)).toContain(`${AGENTS}/fleet`)
  await kube(['delete', 'deployment', 'fleet', '-n', AGENTS, '--wait=false'])
})

/** Where the control plane was: a sidecar that asks for it while it is replaced sends to an address that is nobody's. */
let formerPlaces: readonly string[] = []

test('the operator and the control plane are replaced without an agent noticing', async () => {
  const addresses = 'jsonpath={.items[*].status.podIPs[*].ip}'
  const planes = ['get', 'pods', '-n', SYSTEM, '-l', 'app.kubernetes.io/component=control-plane']
  formerPlaces = (await kube([...planes, '-o', addresses])).split(' ')
  expect(formerPlaces.length).toBeGreaterThanOrEqual(2)
  await kube(['rollout', 'restart', 'deployment', '-n', SYSTEM])
  const statuses = new Set<string>()
  let isRolled = false
  const calls = (async () => {
    while (!isRolled) statuses.add((await inAgent('bot', CALLS.node('GET'))).stdout)
  })()
  for (const name of ['chaperone-operator', 'chaperone-control-plane'])
    await kube(['rollout', 'status', `deployment/${name}`, '-n', SYSTEM, '--timeout=120s'])
  isRolled = true
  await calls
  expect([...statuses]).toEqual(['200 {"ok":true}\n'])
  await controlPlane[Symbol.asyncDispose]()
  controlPlane = await openControlPlane()
})

test('a Permission for a Gateway of others has no effect and says so', async () => {
  await apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: `${AGENTS}-other` } },
    {
      ...ours('Permission', 'steal', {
        gatewayRefs: [{ name: GATEWAY, namespace: AGENTS }],
        rules: [{ connectorType: 'generic', actionPattern: '*', decision: 'allow' }],
      }),
      metadata: { name: 'steal', namespace: `${AGENTS}-other` },
    },
  )
  const resolved = await eventually(
    'it is looked at',
    () => conditionOf('cperm', 'steal', 'ResolvedRefs', `${AGENTS}-other`),
    20_000,
  )
  expect(resolved).toBe('False')
  expect((await inAgent('bot', CALLS.node('DELETE'))).stdout).toMatch(/^403 /)
  await kube(['delete', 'namespace', `${AGENTS}-other`, '--wait=false'])
})

test('a program on musl, as Alpine images have it, finds the vendor by its own resolver', async ({
  skip,
}) => {
  const hasMusl = hasProgram('musl-gcc')
  if (!hasMusl && process.env['CI']) throw new Error('not installed: musl-gcc')
  skip(!hasMusl, 'not installed: musl-gcc')
  const folder = mkdtempSync(join(tmpdir(), 'chaperone-musl-'))
  const program = compiled(folder, 'client.c', C.replaceAll(HOST, VENDOR), (file, out) => [
    'musl-gcc',
    ['-static', '-O1', '-w', '-o', out, file],
  ])
  const text = readFileSync(program).toString('base64')
  rmSync(folder, { recursive: true })
  const start = 'base64 -d > /tmp/musl && chmod +x /tmp/musl && exec /tmp/musl'
  const command = ['exec', '-i', 'bot', '-n', AGENTS, '-c', 'agent', '--', 'sh', '-c', start]
  const before = vendor.recorder.seen.length
  expect((await kubectl(command, text)).stdout).toContain('200')
  expect(vendor.recorder.seen.slice(before).map((seen) => seen.header('authorization'))).toEqual([
    `Bearer ${CREDENTIAL}`,
  ])
})

test('where nothing may be captured the same pod is governed by goodwill, and its state says so', async () => {
  const name = 'goodwill'
  await using cooperative = await startVendor(name, { interception: 'proxyEnv' })
  await eventually(
    'the policies know the Gateway',
    async () => ((await refusalOf(agentPod(name, name))) === null ? true : null),
    30_000,
  )
  await running(name)
  await inForce(name)
  type Pod = {
    readonly metadata: { readonly labels: Readonly<Record<string, string>> }
    readonly spec: { readonly initContainers: ReadonlyArray<{ readonly name: string }> }
  }
  const pod = await get<Pod>('pod', name, AGENTS)
  expect(pod?.metadata.labels['chaperone.dev/layer']).toBe('Cooperative')
  expect(pod?.spec.initContainers.map((container) => container.name)).toEqual(['chaperone-proxy'])
  for (const client of ['node', 'python'] as const) {
    expect((await inAgent(name, CALLS[client]('GET'))).stdout).toBe('200 {"ok":true}\n')
    expect((await inAgent(name, CALLS[client]('DELETE'))).stdout).toMatch(/^403 /)
  }
  expect(cooperative.recorder.seen.map(({ method }) => method)).toEqual(['GET', 'GET'])
  await eventually('the status says it', async () =>
    (await conditionOf('cgw', name, 'BypassPossible')) === 'True' ? true : null,
  )
  // A Connector without its Gateway would appear in every status report.
  const all = ['pod', 'ccon', 'cperm', 'cgw'].map((kind) => `${kind}/${name}`)
  await kube(['delete', ...all, '-n', AGENTS, '--wait=false'])
})

describe('one name of an agent under two Gateways', () => {
  const TWIN = 'twin'
  let other: Vendor
  beforeAll(async () => {
    other = await startVendor(TWIN)
  })
  afterAll(() => other?.[Symbol.asyncDispose]())
  const named = (pod: string, gateway: string, agent: string) =>
    agentPod(pod, gateway, { annotations: { 'chaperone.dev/agent': agent } })
  const gatewayOf = async (agent: string) => {
    type Agents = {
      readonly agents: ReadonlyArray<{ readonly name: string; readonly gateway: string | null }>
    }
    const { agents } = await controlPlane.call<Agents>('GET', '/api/dashboard/agents')
    return agents.find(({ name }) => name === `${AGENTS}/${agent}`)?.gateway
  }
  const remove = (...pods: readonly string[]) =>
    kube(['delete', ...pods.map((pod) => `pod/${pod}`), '-n', AGENTS, '--ignore-not-found', '--timeout=60s'])

  test('is refused to the second pod, and the refusal names the owner', async () => {
    await apply(named('sole', GATEWAY, 'sole-agent'))
    await running('sole')
    const refusal = await refusalOf(named('late', TWIN, 'sole-agent'))
    expect(refusal).toContain('metadata.annotations[chaperone.dev/agent]')
    expect(refusal).toContain(`already runs under Gateway ${AGENTS}/${GATEWAY} (pod sole)`)
    await remove('sole')
  })

  test.runIf(IS_FULL)(
    'is served to one of two that slip past admission in the same moment, and never taken from it',
    async () => {
      const slipped = await slipPast()
      if (slipped === null) {
        console.log('of no two pods both were admitted: the webhook was too quick to be slipped past')
        return
      }
      const { pods, agent } = slipped
      const calls = async () => {
        const answers = await Promise.all(pods.map((pod) => inAgent(pod, CALLS.node('GET'))))
        return answers.map(({ stdout }) => stdout.slice(0, 3))
      }
      // The one that is not served starts its agent after half a minute, and answers it itself.
      const first = await eventually(
        'one of them is served and the other is not',
        async () => {
          const answers = await calls()
          return answers.includes('200') && answers.includes('503') ? answers : null
        },
        120_000,
      )
      const owner = await gatewayOf(agent)
      for (let attempt = 0; attempt < 5; attempt += 1) {
        expect(await calls()).toEqual(first)
        expect(await gatewayOf(agent)).toBe(owner)
      }
      expect(owner).toBe(`${AGENTS}/${first[0] === '200' ? GATEWAY : TWIN}`)
      for (const gateway of [GATEWAY, TWIN])
        await eventually(`Gateway ${gateway} says so`, async () => {
          const found = await get<WithStatus>('cgw', gateway, AGENTS)
          return JSON.stringify(found?.status).includes('AgentShared') ? true : null
        })
      await remove(...pods)
    },
    240_000,
  )

  /** Two pods that are the same agent under both Gateways; null when one of each two was refused. */
  async function slipPast() {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const agent = `slipped-${attempt}`
      const pods = [`left-${'abcde'[attempt]}`, `right-${'abcde'[attempt]}`] as const
      const refusals = await Promise.all([
        refusalOf(named(pods[0], GATEWAY, agent)),
        refusalOf(named(pods[1], TWIN, agent)),
      ])
      if (refusals.every((refusal) => refusal === null)) return { pods, agent }
      await remove(...pods)
    }
    return null
  }
})

test('no packet left the pod except to the vendor and the control plane', async () => {
  const left = await leftOutside('bot')
  const isToPlane = ({ dst = '', dport = 0 }) => dport === PLANE_PORT && formerPlaces.includes(dst)
  if (left !== null) expect(left.filter((packet) => !isToPlane(packet))).toEqual([])
})
