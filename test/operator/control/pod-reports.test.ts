import pino from 'pino'
import { afterEach, describe, expect, test } from 'vitest'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Sandbox } from '../../../core/inject/sandbox.ts'
import type { KnownPod, PodIdentityReport } from '../../../core/wire/operator/pods.ts'
import { type InjectedPod, injectedPod } from '../../../operator/control/pod-metadata.ts'
import { createPodReports, type PodReports } from '../../../operator/control/pod-reports.ts'
import type { KubeClient } from '../../../operator/kube/client.ts'
import { eventually } from '../../support/eventually.ts'

let running: PodReports | null = null
afterEach(async () => {
  await running?.[Symbol.asyncDispose]()
  running = null
})

const CLAIM = { name: 'alice', uid: 'uid-alice' }

/** Pod of a Sandbox as the injector leaves it. */
function warmPod(name: string): InjectedPod {
  const injected = { gateway: 'team/main', agent: 'research', workload: 'SandboxTemplate research' }
  return injectedPod({
    metadata: {
      ...{ namespace: 'team', name, uid: `uid-${name}`, resourceVersion: '1' },
      labels: { 'chaperone.dev/inject': 'injected' },
      annotations: {
        'chaperone.dev/gateway': 'main',
        'chaperone.dev/agent': 'research',
        'chaperone.dev/injected': JSON.stringify(injected),
      },
      ownerReferences: [
        { apiVersion: 'agents.x-k8s.io/v1beta1', kind: 'Sandbox', name, uid: `s-${name}`, controller: true },
      ],
    },
  })
}

type Call = KubeClient['call']
const NO_CALL: Call = () => Promise.reject(new Error('no call is expected'))

const noAnswer: Call = async ({ signal }) => {
  signal?.throwIfAborted()
  return new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
}

function world(names: readonly string[], known: readonly KnownPod[] = [], call: Call = NO_CALL) {
  const pods = new Map(names.map((name) => [`team/${name}`, warmPod(name)]))
  const sandboxes = new Map<string, Sandbox>(
    names.map((name) => [
      `team/${name}`,
      { uid: `s-${name}`, isTemplated: true, template: 'research', claim: null, pool: null },
    ]),
  )
  const sent: PodIdentityReport[] = []
  const calls: (readonly PodIdentityReport[])[] = []
  const control = { answer: async (_reported: readonly PodIdentityReport[]): Promise<void> => undefined }
  let compared = 0
  const reports = createPodReports({
    client: { call },
    controlPlane: {
      async putPods(reported) {
        calls.push(reported)
        await control.answer(reported)
        sent.push(...reported)
      },
      knownPods: async () => {
        compared++
        return known
      },
    },
    pods: { get: (key) => pods.get(key), list: () => [...pods.values()], synced: Promise.resolve() },
    sandboxOf: (namespace, name) => sandboxes.get(`${namespace}/${name}`),
    log: pino({ level: 'silent' }),
    // The comparison also reports claims, so none follows the first one.
    compareMs: 600_000,
  })
  running = reports
  return {
    ...{ reports, sent, calls, control },
    remove(name: string) {
      pods.delete(`team/${name}`)
      reports.changed(`team/${name}`)
    },
    compared: () => eventually('compared', () => compared > 0 || null),
    claim(name: string, changes: Partial<Sandbox> = {}) {
      const sandbox = sandboxes.get(`team/${name}`)
      if (sandbox !== undefined) sandboxes.set(`team/${name}`, { ...sandbox, claim: CLAIM, ...changes })
      reports.sandboxChanged(`team/${name}`)
    },
  }
}

const claimsOf = (sent: readonly PodIdentityReport[]) => sent.map(({ name, claim }) => [name, claim?.name])

describe('the pod of a Sandbox', () => {
  test('is reported with its Sandbox, and again when a claim adopts it', async () => {
    const one = world(['warm-1', 'warm-2'])
    await eventually('reported', () => one.sent.length === 2 || null)
    expect(one.sent[0]).toMatchObject({ sandbox: { name: 'warm-1', uid: 's-warm-1' }, deleted: false })
    one.claim('warm-2')
    await eventually('reported again', () => one.sent.length === 3 || null)
    expect(claimsOf(one.sent)).toEqual([
      ['warm-1', undefined],
      ['warm-2', undefined],
      ['warm-2', 'alice'],
    ])
    expect(one.sent[2]?.claim).toEqual(CLAIM)
  })

  test('is reported once with its claim, however often the Sandbox changes', async () => {
    const one = world(['warm-1', 'warm-2'])
    await eventually('reported', () => one.sent.length === 2 || null)
    for (let times = 0; times < 3; times++) one.claim('warm-1')
    await eventually('the claim', () => one.sent.length === 3 || null)
    one.claim('warm-1')
    one.claim('warm-2')
    await eventually(
      'the other claim',
      () => claimsOf(one.sent).some(([name, claim]) => name === 'warm-2' && claim) || null,
    )
    expect(claimsOf(one.sent).filter(([, claim]) => claim)).toEqual([
      ['warm-1', 'alice'],
      ['warm-2', 'alice'],
    ])
  })

  test('does not get the claim of a later Sandbox of the same name', async () => {
    const one = world(['warm-1', 'warm-2'])
    await eventually('reported', () => one.sent.length === 2 || null)
    one.claim('warm-1', { uid: 'another' })
    one.claim('warm-2')
    await eventually('the claim of the other', () => one.sent.length === 3 || null)
    expect(claimsOf(one.sent).at(-1)).toEqual(['warm-2', 'alice'])
  })

  test('that the control plane has without a claim is reported by the first comparison', async () => {
    const { injection, metadata } = warmPod('warm-1')
    if (injection === null) throw new Error('the pod is injected')
    const known = { podUid: metadata.uid, namespace: 'team', name: 'warm-1', ...injection, sandbox: CLAIM }
    const one = world(['warm-1'], [known])
    await one.compared()
    expect(one.sent).toEqual([])
    one.claim('warm-1')
    await eventually('reported', () => one.sent.length === 1 || null)
    expect(claimsOf(one.sent)).toEqual([['warm-1', 'alice']])
  })
})

describe('many pods at a time', () => {
  const crowd = Array.from({ length: 20 }, (_, at) => `warm-${at}`)
  const claimed = (one: ReturnType<typeof world>) => one.sent.filter(({ claim }) => claim).length

  test('claims during a call share the next call', async () => {
    const one = world(crowd)
    await eventually('reported', () => one.sent.length === 20 || null)
    const answered = Promise.withResolvers<void>()
    one.control.answer = () => answered.promise
    for (const name of crowd) one.claim(name)
    await eventually('called', () => one.calls.length === 2 || null)
    answered.resolve()
    await eventually('all claims', () => claimed(one) === 20 || null)
    expect(one.calls.length).toBeLessThanOrEqual(3)
  })

  test('a claim is reported while the API server does not answer about deleted pods', async () => {
    const one = world(crowd, [], noAnswer)
    await eventually('reported', () => one.sent.length === 20 || null)
    for (const name of crowd.slice(1)) one.remove(name)
    one.claim('warm-0')
    await eventually('the claim', () => claimed(one) === 1 || null)
  })

  test('a pod that the control plane refuses keeps no other pod from being reported', async () => {
    const one = world(crowd)
    await eventually('reported', () => one.sent.length === 20 || null)
    one.control.answer = async (reported) => {
      if (reported.some(({ name }) => name === 'warm-7'))
        throw new ChaperoneError('validation', { detail: 'workload: too long.' })
    }
    for (const name of crowd) one.claim(name)
    await eventually('the claims of the others', () => claimed(one) === 19 || null)
    one.control.answer = async () => undefined
    await eventually('the claim of the refused pod', () => claimed(one) === 20 || null)
  })

  test('claims are reported after an outage of the control plane', async () => {
    const one = world(crowd)
    await eventually('reported', () => one.sent.length === 20 || null)
    one.control.answer = () =>
      Promise.reject(new ChaperoneError('not_ready', { detail: 'The control plane is away.' }))
    for (const name of crowd) one.claim(name)
    await eventually('called', () => one.calls.length > 2 || null)
    one.control.answer = async () => undefined
    await eventually('all claims', () => claimed(one) === 20 || null)
  })
})
