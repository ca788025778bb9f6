import { setTimeout as wait } from 'node:timers/promises'
import { CoreV1Api, KubeConfig, type V1Pod } from '@kubernetes/client-node'
import { beforeAll, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { IS_FULL } from '../support/proof.ts'
import { agentPod, CALLS, inAgent, inForce, ours, running, startVendor } from './agents.ts'
import { AGENTS, CHART, install, SYSTEM, uninstall } from './installation.ts'
import { apply, get, helm, kube, refusalOf } from './kubectl.ts'

const GATEWAY = 'leaving'

beforeAll(() => install(inject('installation')))

type Asked = 'governed' | 'ungoverned' | string

/** What the API server would do with an annotated pod now: no pod is made. Not by kubectl, which keeps a core busy. */
async function asked(api: CoreV1Api): Promise<Asked> {
  const body = agentPod('asked', GATEWAY) as V1Pod
  try {
    const { spec } = await api.createNamespacedPod({ namespace: AGENTS, body, dryRun: 'All' })
    const names = spec?.initContainers?.map(({ name }) => name) ?? []
    return names.slice(0, 2).join() === 'chaperone-rules,chaperone-proxy' ? 'governed' : 'ungoverned'
  } catch (error) {
    return String(error)
  }
}

function coreApi(): CoreV1Api {
  const config = new KubeConfig()
  config.loadFromDefault()
  return config.makeApiClient(CoreV1Api)
}

async function askedUntil(api: CoreV1Api, end: AbortSignal): Promise<readonly Asked[]> {
  const answers: Asked[] = []
  while (!end.aborted) {
    answers.push(await asked(api))
    await wait(ASK_EVERY_MS)
  }
  return answers
}
const ASK_EVERY_MS = 100

async function operators(): Promise<readonly string[]> {
  const pods = await kube(['get', 'pods', '-n', SYSTEM, '-o', 'name'])
  return pods.split('\n').filter((name) => name.includes('operator'))
}

const UPGRADE = ['upgrade', 'chaperone', CHART, '--set', 'operator.logLevel=debug,controlPlane.logLevel=warn']
const CHANGES: ReadonlyArray<readonly [string, readonly string[]]> = [
  ['an upgrade', UPGRADE],
  ['a way back', ['rollback', 'chaperone']],
]

test.each(CHANGES.slice(0, IS_FULL ? 2 : 1))(
  '%s replaces every program and leaves no webhook that fails: pods are governed all the while',
  async (_what, command) => {
    await using _vendor = await startVendor(GATEWAY)
    // Something new each time: a repeated upgrade would replace nothing.
    const requests = `operator.resources.requests.cpu=${20 + (Date.now() % 60)}m`
    const values = command[0] === 'upgrade' ? [...inject('installation').values, '--set', requests] : []
    const end = new AbortController()
    const api = coreApi()
    // The webhook knows a Gateway a moment after the API server.
    await eventually('pods are governed', async () => ((await asked(api)) === 'governed' ? true : null))
    const asking = askedUntil(api, end.signal)
    const before = await operators()
    try {
      await helm([...command, '-n', SYSTEM, ...values, '--wait', '--timeout', '180s'])
      // Until the last word of the last one.
      await kube(['wait', '-n', SYSTEM, '--for=delete', '--timeout=60s', ...before])
    } finally {
      end.abort()
    }
    const answers = await asking
    console.log(`annotated pods that were asked for meanwhile: ${answers.length}`)
    expect(answers.length).toBeGreaterThan(3)
    expect([...new Set(answers)]).toEqual(['governed'])
    expect((await operators()).filter((name) => before.includes(name))).toEqual([])
    await apply(agentPod('renewed', GATEWAY))
    await running('renewed')
    await inForce(GATEWAY)
    expect((await inAgent('renewed', CALLS.node('GET'))).stdout).toBe('200 {"ok":true}\n')
    await kube(['delete', 'pod', 'renewed', '-n', AGENTS, '--timeout=60s'])
  },
)

test('an uninstalled chart leaves nothing that the API server asks, and every resource of a team', async () => {
  await using vendor = await startVendor(GATEWAY)
  await apply(agentPod('stays', GATEWAY))
  await running('stays')
  await inForce(GATEWAY)
  await uninstall()

  const kinds =
    'mutatingwebhookconfigurations,validatingwebhookconfigurations,validatingadmissionpolicies,validatingadmissionpolicybindings,clusterroles,clusterrolebindings'
  const left = (await kube(['get', kinds, '-o', 'name']))
    .split('\n')
    .filter((name) => name.includes('chaperone'))
  expect(left).toEqual([])
  for (const kind of ['cgw', 'ccon', 'cperm']) expect(await get(kind, GATEWAY, AGENTS)).not.toBeNull()

  // A pod that runs stays governed by the rules that it had, and a new one starts like any other.
  expect((await inAgent('stays', CALLS.node('DELETE'))).stdout).toMatch(/^403 /)
  expect(await refusalOf(agentPod('plain', GATEWAY))).toBeNull()
  await kube(['delete', 'pod', 'plain', 'stays', '-n', AGENTS, '--wait=false'])

  // The operator is away, and a deletion does not wait for it.
  await kube(['delete', 'cgw', GATEWAY, '-n', AGENTS, '--timeout=10s'])
  await apply(ours('Gateway', 'second', {}))
  await kube(['delete', 'cgw', 'second', '-n', AGENTS, '--timeout=10s'])
  expect(vendor.recorder.seen).toEqual([])
})

test('installed again it finds its keys, and what it governed is governed', async () => {
  const key = () =>
    kube(['get', 'secret', 'chaperone-keys', '-n', SYSTEM, '-o', 'jsonpath={.data.master\\.key}'])
  const before = await key()
  await install(inject('installation'))
  expect(await key()).toBe(before)
  await using _vendor = await startVendor(GATEWAY)
  await apply(agentPod('back', GATEWAY))
  await running('back')
  await inForce(GATEWAY)
  expect((await inAgent('back', CALLS.node('GET'))).stdout).toBe('200 {"ok":true}\n')
})
