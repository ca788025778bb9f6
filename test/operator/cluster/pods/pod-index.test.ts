import { describe, expect, test } from 'vitest'
import { type GovernedPod, governedPod } from '../../../../operator/cluster/pods/governed-pods.ts'
import { createPodIndex } from '../../../../operator/cluster/pods/pod-index.ts'

type Shape = {
  readonly gateway?: string
  readonly agent?: string
  readonly isReady?: boolean
  readonly phase?: string
  readonly isDeleting?: boolean
  readonly changesUser?: boolean
  readonly layer?: string
  readonly spec?: object
}

function pod(name: string, shape: Shape = {}): GovernedPod {
  const {
    gateway = 'team/prod',
    agent = name,
    isReady = true,
    phase = 'Running',
    layer = 'Transparent',
  } = shape
  return governedPod({
    metadata: {
      ...{ namespace: 'team', name, uid: name, resourceVersion: '1' },
      labels: { 'chaperone.dev/layer': layer },
      annotations: {
        'chaperone.dev/agent': agent,
        'chaperone.dev/injected': JSON.stringify({ gateway, agent }),
        ...(shape.changesUser && { 'chaperone.dev/bypass-possible': 'spec.containers[0]: gosu' }),
      },
      ...(shape.isDeleting && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    ...(shape.spec && { spec: shape.spec }),
    status: { phase, initContainerStatuses: [{ name: 'chaperone-proxy', ready: isReady }] },
  } as never)
}

const NOTHING = {
  cooperative: 0,
  isolatedIn: [],
  changingUser: 0,
  unknownUser: 0,
  seccompProfiles: new Map(),
  notReady: [],
  captureFailures: [],
  sharedAgents: [],
  admittingInbound: new Set(),
}

function captureFailureOf(initContainerStatuses: readonly object[]): Pick<GovernedPod, 'captureFailure'> {
  const metadata = { name: 'a', namespace: 'team', uid: 'a', resourceVersion: '1' }
  const { captureFailure } = governedPod({ metadata, status: { initContainerStatuses } } as never)
  return { captureFailure }
}

describe('the index of governed pods', () => {
  test('counts pods until they end, and as ready when their sidecar is', () => {
    const index = createPodIndex()
    const set = (name: string, shape: Shape) => index.set(`team/${name}`, pod(name, shape))
    expect(set('a', { changesUser: true })).toEqual(new Set(['team/prod']))
    set('b', { isReady: false })
    set('c', { phase: 'Succeeded' })
    const admittingInbound = new Set(['team/a', 'team/b'])
    const counts = { ...NOTHING, governed: 2, ready: 1, changingUser: 1, admittingInbound }
    expect(index.factsOf('team/prod')).toEqual(counts)
    index.set('team/a', undefined)
    const left = { ...NOTHING, governed: 1, admittingInbound: new Set(['team/b']) }
    expect(index.factsOf('team/prod')).toEqual({ ...left, ready: 0 })
    set('b', { phase: 'Failed' })
    expect(index.factsOf('team/prod')).toEqual({ ...NOTHING, governed: 0, ready: 0 })
  })

  test.each<[string, object, string | null]>([
    ['has not run yet', {}, null],
    ['has set them', { state: { terminated: { exitCode: 0 } } }, null],
    [
      'has set them after it failed',
      { state: { terminated: { exitCode: 0 } }, lastState: { terminated: { exitCode: 1, message: 'no' } } },
      null,
    ],
    [
      'has just failed',
      { state: { terminated: { exitCode: 1, message: 'no raw sockets\n' } } },
      'no raw sockets',
    ],
    [
      'waits after it failed',
      {
        state: { waiting: { reason: 'CrashLoopBackOff' } },
        lastState: { terminated: { exitCode: 3, message: '' } },
      },
      'exit code 3',
    ],
  ])('names a pod whose rule setter %s', (_, setter, reason) => {
    const index = createPodIndex()
    const statuses = [{ name: 'chaperone-rules', ready: false, ...setter }]
    const failing = { ...pod('a', { isReady: false }), ...captureFailureOf(statuses) }
    index.set('team/a', failing)
    const found = index.factsOf('team/prod').captureFailures
    expect(found.map(({ metadata, reason }) => [metadata.name, reason])).toEqual(
      reason === null ? [] : [['a', reason]],
    )
    index.set('team/a', pod('a'))
    expect(index.factsOf('team/prod').captureFailures).toEqual([])
  })

  test('counts pods with a container whose image chooses the user', () => {
    const index = createPodIndex()
    const own = { name: 'agent', securityContext: { runAsUser: 1000 } }
    const specs = {
      unsaid: { containers: [own, { name: 'other' }] },
      init: { containers: [own], initContainers: [{ name: 'prepare' }] },
      numeric: { containers: [own] },
      inherited: { securityContext: { runAsUser: 1000 }, containers: [{ name: 'agent' }] },
    }
    for (const [name, spec] of Object.entries(specs)) index.set(`team/${name}`, pod(name, { spec }))
    expect(index.factsOf('team/prod')).toMatchObject({ governed: 4, unknownUser: 2 })
    index.set('team/unsaid', undefined)
    expect(index.factsOf('team/prod')).toMatchObject({ governed: 3, unknownUser: 1 })
  })

  test('knows the namespaces in which pods with proxyEnv run, and does not count bypasses of a capture for them', () => {
    const index = createPodIndex()
    const spec = { containers: [{ name: 'agent' }] }
    const set = (name: string, shape: Shape) =>
      index.set(`team/${name}`, pod(name, { spec, changesUser: true, ...shape }))
    set('captured', {})
    expect(index.proxiedNamespaces()).toEqual(new Set())
    set('held', { layer: 'IsolatedByNetworkPolicy' })
    set('loose', { layer: 'Cooperative' })
    expect(index.factsOf('team/prod')).toMatchObject({
      ...{ governed: 3, cooperative: 1, isolatedIn: ['team'] },
      ...{ unknownUser: 1, changingUser: 1 },
    })
    expect(index.proxiedNamespaces()).toEqual(new Set(['team']))
    set('held', { layer: 'IsolatedByNetworkPolicy', phase: 'Succeeded' })
    expect(index.factsOf('team/prod').isolatedIn).toEqual([])
    expect(index.proxiedNamespaces()).toEqual(new Set(['team']))
    index.set('team/loose', undefined)
    expect(index.proxiedNamespaces()).toEqual(new Set())
  })

  test('counts pods by the seccomp profile that all containers of their agents have', () => {
    const index = createPodIndex()
    const local = (localhostProfile: string) => ({
      seccompProfile: { type: 'Localhost', localhostProfile },
    })
    const plain = { seccompProfile: { type: 'RuntimeDefault' } }
    const sidecar = { name: 'chaperone-proxy', securityContext: plain }
    const agent = (securityContext?: object) => ({
      name: 'agent',
      ...(securityContext && { securityContext }),
    })
    const closed = local('agent.json')
    const specs = {
      none: { containers: [agent()] },
      plain: { securityContext: plain, containers: [agent()] },
      one: { securityContext: closed, containers: [agent(), agent(plain)] },
      mixed: { securityContext: closed, containers: [agent(), agent(local('open.json'))] },
      closed: { securityContext: closed, containers: [agent()], initContainers: [sidecar] },
      own: { containers: [agent(closed)] },
      other: { securityContext: local('open.json'), containers: [agent()] },
    }
    for (const [name, spec] of Object.entries(specs)) index.set(`team/${name}`, pod(name, { spec }))
    const seccompProfiles = new Map([
      ['agent.json', 2],
      ['open.json', 1],
    ])
    expect(index.factsOf('team/prod')).toMatchObject({ governed: 7, seccompProfiles })
    index.set('team/other', undefined)
    expect(index.factsOf('team/prod').seccompProfiles).toEqual(new Map([['agent.json', 2]]))
  })

  test('reports the own Gateway of a changed pod, and none for an event that changes nothing of it', () => {
    const index = createPodIndex()
    index.set('team/a', pod('a'))
    index.set('team/b', pod('b', { gateway: 'team/other' }))
    expect(index.set('team/a', pod('a'))).toEqual(new Set())
    expect(index.set('team/a', pod('a', { isReady: false }))).toEqual(new Set(['team/prod']))
    expect(index.set('team/a', pod('a', { gateway: 'team/third' }))).toEqual(
      new Set(['team/prod', 'team/third']),
    )
    expect(index.factsOf('team/prod').governed).toBe(0)
    expect(index.set('team/a', undefined)).toEqual(new Set(['team/third']))
    expect(index.set('team/a', undefined)).toEqual(new Set())
  })

  test('names pods that are not ready for 60 s, and not those that are being deleted', () => {
    let now = 0
    const index = createPodIndex(() => now)
    index.set('team/slow', pod('slow', { isReady: false }))
    now = 30_000
    index.set('team/late', pod('late', { isReady: false }))
    index.set('team/leaving', pod('leaving', { isReady: false, isDeleting: true }))
    expect(index.dueMs('team/prod')).toBe(30_001)
    now = 60_001
    expect(index.factsOf('team/prod').notReady).toEqual(['team/slow'])
    expect(index.dueMs('team/prod')).toBe(30_000)
    now = 90_001
    expect(index.factsOf('team/prod').notReady).toEqual(['team/slow', 'team/late'])
    expect(index.dueMs('team/prod')).toBeNull()
    index.set('team/slow', pod('slow'))
    expect(index.factsOf('team/prod').notReady).toEqual(['team/late'])
  })

  test('reports the other Gateways of an agent only when the pods of the agent change them', () => {
    const index = createPodIndex()
    index.set('team/a', pod('a', { agent: 'bot' }))
    const shared = new Set(['team/prod', 'team/other'])
    expect(index.set('team/b', pod('b', { agent: 'bot', gateway: 'team/other' }))).toEqual(shared)
    expect(index.factsOf('team/prod').sharedAgents).toEqual(['team/bot, also of team/other (pod team/b)'])
    expect(index.set('team/c', pod('c', { agent: 'bot', gateway: 'team/other' }))).toEqual(
      new Set(['team/other']),
    )
    expect(index.set('team/b', undefined)).toEqual(shared)
    expect(index.factsOf('team/prod').sharedAgents).toEqual(['team/bot, also of team/other (pod team/c)'])
    expect(index.set('team/c', undefined)).toEqual(shared)
    expect(index.factsOf('team/prod').sharedAgents).toEqual([])
  })
})
