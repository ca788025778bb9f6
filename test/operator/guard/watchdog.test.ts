import { describe, expect, it } from 'vitest'
import { inject } from '../../../core/inject/inject.ts'
import { PodSchema } from '../../../core/inject/pod.ts'
import { judgePod, type RunningPod } from '../../../operator/guard/judge-pod.ts'
import { sweep, type WatchdogPort } from '../../../operator/guard/watchdog.ts'
import { gateway, INJECT_OPTIONS } from '../../support/golden-pods.ts'

const NONE = { namespaceLabels: {}, proxyImages: [INJECT_OPTIONS.images.proxy] }
const REQUIRED = { ...NONE, namespaceLabels: { 'chaperone.dev/inject': 'required' } }
const bare = (metadata: object = {}) =>
  PodSchema.parse({
    metadata: { name: 'p', namespace: 'team', ...metadata },
    spec: { containers: [{ name: 'agent' }], initContainers: [{ name: 'prepare' }] },
  })
const annotated = { annotations: { 'chaperone.dev/gateway': 'main' } }

function governed(change: (pod: RunningPod) => RunningPod = (pod) => pod): RunningPod {
  const result = inject(bare(annotated), gateway('team', 'main'), INJECT_OPTIONS)
  if (result.kind === 'refused') throw new Error('refused')
  return change(result.pod)
}

describe('the watchdog', () => {
  it('reports no governed pods, and no pods that need not be governed', () => {
    expect(judgePod(governed(), REQUIRED)).toBeNull()
    expect(judgePod(bare(), NONE)).toBeNull()
  })

  it('finds pods without a required sidecar', () => {
    expect(judgePod(bare(annotated), NONE)?.kind).toBe('ungoverned')
    expect(judgePod(bare(), REQUIRED)?.kind).toBe('ungoverned')
  })

  it('finds containers that start before the injected ones', () => {
    const moved = governed((pod) => ({
      ...pod,
      spec: { ...pod.spec, initContainers: pod.spec.initContainers?.toReversed() ?? [] },
    }))
    expect(judgePod(moved, NONE)).toMatchObject({
      kind: 'sidecar-changed',
      message: expect.stringContaining('start before'),
    })
  })

  it.each(['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'])(
    'finds an image that runs as the user of the proxy, in %s',
    (list) => {
      const statuses = [
        { name: 'chaperone-proxy', user: { linux: { uid: INJECT_OPTIONS.freshUid } } },
        { name: 'agent', user: { linux: { uid: INJECT_OPTIONS.freshUid } } },
      ]
      const found = judgePod(
        governed((pod) => ({ ...pod, status: { [list]: statuses } })),
        NONE,
      )
      expect(found).toMatchObject({ kind: 'proxy-user', message: expect.stringContaining('Container agent') })
    },
  )

  it('distinguishes an outdated sidecar from a missing one', () => {
    expect(judgePod(governed(), { ...NONE, proxyImages: ['chaperone:2'] })?.kind).toBe('outdated')
    expect(judgePod(governed(), { ...NONE, proxyImages: ['localhost:5000/chaperone:1'] })?.kind).toBe(
      'sidecar-changed',
    )
  })

  it('ignores ended pods', () => {
    for (const phase of ['Succeeded', 'Failed'])
      expect(judgePod({ ...bare(annotated), status: { phase } }, NONE)).toBeNull()
    expect(judgePod(bare({ ...annotated, deletionTimestamp: '2027-01-01T00:00:00Z' }), NONE)).toBeNull()
  })
})

describe('a sweep', () => {
  const setup = (pods: readonly RunningPod[], evict: WatchdogPort['evict'] = async () => undefined) => {
    const reported: string[] = []
    const port: WatchdogPort = {
      pods: () => pods,
      namespaceLabels: (name) => (name === 'closed' ? { 'chaperone.dev/inject': 'required' } : undefined),
      report: ({ metadata }, { kind }) => reported.push(`${metadata.namespace}/${metadata.name} ${kind}`),
      evict,
    }
    return { port, reported }
  }
  const options = { ownNamespace: 'chaperone-system', proxyImages: ['chaperone:1'], evicts: false }

  it('groups pods by their Gateway, and exempts system namespaces and its own', () => {
    const { port, reported } = setup([
      bare({ name: 'a', ...annotated }),
      bare({ name: 'b', annotations: { 'chaperone.dev/gateway': 'platform/shared' } }),
      bare({ name: 'c', namespace: 'closed' }),
      ...['kube-system', 'kube-public', 'kube-node-lease'].map((namespace) =>
        bare({ name: 'd', namespace, ...annotated }),
      ),
      bare({ name: 'd', namespace: 'kube-tools', ...annotated }),
      bare({ name: 'e', namespace: 'chaperone-system', ...annotated }),
      governed(),
    ])
    const { bypassing, outdated } = sweep(port, options)
    expect(Object.fromEntries(bypassing)).toEqual({
      'team/main': [{ name: 'team/a', kind: 'ungoverned' }],
      'kube-tools/main': [{ name: 'kube-tools/d', kind: 'ungoverned' }],
      'platform/shared': [{ name: 'team/b', kind: 'ungoverned' }],
      '': [{ name: 'closed/c', kind: 'ungoverned' }],
    })
    expect(outdated).toEqual([])
    expect(reported).toEqual([
      'team/a ungoverned',
      'team/b ungoverned',
      'closed/c ungoverned',
      'kube-tools/d ungoverned',
    ])
  })

  it('evicts pods only if configured, and never outdated ones', async () => {
    const ended: string[] = []
    const evict = async ({ metadata }: RunningPod) => {
      ended.push(metadata.name ?? '')
    }
    const pods = [bare({ name: 'a', ...annotated }), governed()]
    expect(await sweep(setup(pods, evict).port, options).evictions).toEqual([])
    expect(ended).toEqual([])
    await sweep(setup(pods, evict).port, { ...options, proxyImages: ['chaperone:2'], evicts: true }).evictions
    expect(ended).toEqual(['a'])
  })

  it('tries to evict every pod, and returns the findings with the evictions that failed', async () => {
    const tried: string[] = []
    const evict = async ({ metadata }: RunningPod) => {
      tried.push(metadata.name ?? '')
      if (metadata.name === 'a') throw new Error('disruption budget')
    }
    const pods = [bare({ name: 'a', ...annotated }), bare({ name: 'b', ...annotated })]
    const { bypassing, evictions } = sweep(setup(pods, evict).port, { ...options, evicts: true })
    expect(bypassing.get('team/main')?.map(({ name }) => name)).toEqual(['team/a', 'team/b'])
    expect(await evictions).toMatchObject([{ pod: 'team/a', error: { message: 'disruption budget' } }])
    expect(tried).toEqual(['a', 'b'])
  })
})
