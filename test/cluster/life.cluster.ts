import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
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
  type Vendor,
} from './agents.ts'
import { type ControlPlane, openControlPlane } from './control-plane.ts'
import { AGENTS, install, SYSTEM } from './installation.ts'
import { apply, exec, get, helm, kube, kubectl } from './kubectl.ts'

const GATEWAY = 'life'
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

test('the chart says of itself that it holds: a pod is governed, another refused', async () => {
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

test('the status says how many pods and processes have what is written', async () => {
  const columns = await kube(['get', 'cgw', GATEWAY, '-n', AGENTS, '--no-headers'])
  expect(columns.split(/\s+/).slice(0, 4)).toEqual([GATEWAY, 'full_enforce', 'transparent', '1/1'])
})

test('a changed Secret is what the next calls carry', async () => {
  const patch = { stringData: { token: 'rotated-credential' } }
  await kube(['patch', 'secret', GATEWAY, '-n', AGENTS, '-p', JSON.stringify(patch)])
  try {
    await eventually(
      'the new credential arrives',
      async () => {
        await inAgent('bot', CALLS.node('GET'))
        return vendor.recorder.seen.at(-1)?.header('authorization') === 'Bearer rotated-credential'
          ? true
          : null
      },
      15_000,
    )
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
  await eventually('the stop arrives', async () =>
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

test('the operator and the control plane are replaced without an agent noticing', async () => {
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
        gateway: GATEWAY,
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

test('nothing of all that left the pod but to the vendor and the control plane', async () => {
  const left = await leftOutside('bot')
  if (left !== null) expect(left).toEqual([])
})
