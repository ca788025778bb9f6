import pino from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { resourceFields } from '../../../core/resource-attributes.ts'
import { kubeconfigAccess } from '../../../kube/kubeconfig-access.ts'
import { createKubeClient, type KubeClient } from '../../../operator/kube/client.ts'
import type { KubeObject } from '../../../operator/kube/objects.ts'
import { createReflector, type Reflector, type ReflectorTiming } from '../../../operator/kube/reflector.ts'
import { eventually } from '../../support/eventually.ts'
import { type FakeCall, type FakeKubeApi, startFakeKubeApi, times } from '../../support/fake-kube-api.ts'

const PATH = '/api/v1/configmaps'
const COLLECTION = 'api/v1/configmaps'
const QUICK: ReflectorTiming = { watchS: [290, 590], idleMs: 400, minMs: 10, maxMs: 100 }
/** With the resource attributes of the process, as the operator logs. */
const log = pino(
  { level: 'warn', ...resourceFields({ OTEL_RESOURCE_ATTRIBUTES: 'k8s.cluster.name=prod-1' }) },
  { write: (line: string) => void logged.push(JSON.parse(line)) },
)

let api: FakeKubeApi
let client: KubeClient
let reflector: Reflector<KubeObject> | undefined
let changes: string[]
let logged: object[]
let counts: { restarts: number; relists: number }

beforeEach(async () => {
  api = await startFakeKubeApi()
  client = createKubeClient(kubeconfigAccess((await api.front('test')).config))
  changes = []
  logged = []
  counts = { restarts: 0, relists: 0 }
})
afterEach(async () => {
  await reflector?.stop()
  reflector = undefined
  client[Symbol.dispose]()
  await api[Symbol.asyncDispose]()
})

const isList = ({ isWatch, method }: FakeCall) => method === 'GET' && !isWatch
const isWatch = (call: FakeCall) => call.isWatch
const add = (name: string) => api.store.create(COLLECTION, { metadata: { name, namespace: 'ns' } })
const drop = (name: string) => api.store.remove(COLLECTION, 'ns', name)
const names = () =>
  reflector
    ?.list()
    .map(({ metadata }) => metadata.name)
    .sort()
    .join() ?? ''
const until = (wanted: string) =>
  eventually(`the copy is ${wanted}`, () => (names() === wanted ? true : null)).catch((error: unknown) => {
    throw new Error(`${String(error)}; is ${names()}`)
  })

function start(timing = QUICK): Reflector<KubeObject> {
  reflector = createReflector<KubeObject>({
    ...{ client, log, timing, resource: 'configmaps', selection: { path: PATH } },
    onChange: (key) => changes.push(key),
    metrics: {
      restarted: () => {
        counts.restarts += 1
      },
      relisted: () => {
        counts.relists += 1
      },
    },
  })
  return reflector
}

const watching = () => eventually('a watch is open', () => (api.openWatches(PATH) > 0 ? true : null))

describe('the informer of one kind', () => {
  test('lists in pages of 500, then follows additions, changes and deletions', async () => {
    for (let i = 0; i < 1_203; i += 1) add(`a${`${i}`.padStart(4, '0')}`)
    await start().synced
    expect(reflector?.list()).toHaveLength(1_203)
    const lists = api.calls.filter(isList)
    expect(lists.map(({ query }) => query.get('limit'))).toEqual(['500', '500', '500'])
    await watching()
    const [{ query } = { query: new URLSearchParams() }] = api.calls.filter(isWatch)
    expect(query.get('allowWatchBookmarks')).toBe('true')
    expect(Number(query.get('timeoutSeconds'))).toBeGreaterThanOrEqual(290)
    expect(Number(query.get('timeoutSeconds'))).toBeLessThanOrEqual(590)
    drop('a0000')
    add('b')
    await eventually('both are heard', () =>
      changes.includes('ns/b') && reflector?.get('ns/a0000') === undefined ? true : null,
    )
  })

  test('survives repeated 410, by HTTP status and by event, without losing objects or deletions', async () => {
    for (const name of ['a', 'b', 'c']) add(name)
    await start().synced
    await watching()
    const storm = [
      api.fault(times(3, isWatch, { kind: 'status', status: 410 })),
      api.fault(times(3, isWatch, { kind: 'error-event', code: 410 })),
    ]
    api.store.compact()
    api.silenceWatches()
    drop('b')
    add('d')
    await until('a,c,d')
    expect(changes).toContain('ns/b')
    expect(counts.relists).toBeGreaterThan(1)
    for (const fault of storm) fault[Symbol.dispose]()
    add('e')
    await until('a,c,d,e')
    // The member `resource` of a line has the attributes of the process.
    expect(logged.length).toBeGreaterThan(0)
    for (const line of logged)
      expect(line).toMatchObject({
        ...{ msg: 'watch interrupted', watched: 'configmaps' },
        resource: { 'k8s.cluster.name': 'prod-1' },
      })
  })

  test('opens a watch of a few seconds again at once when the API server ends it', async () => {
    add('a')
    await start({ watchS: [1, 1], idleMs: 20_000, minMs: 120_000, maxMs: 120_000 }).synced
    await eventually('it is open again', () => (counts.restarts > 1 ? true : null))
    add('b')
    await until('a,b')
  })

  test('detects a half-open watch, and catches up', async () => {
    add('a')
    await start().synced
    await watching()
    api.silenceWatches()
    drop('a')
    add('b')
    await until('b')
    expect(changes).toContain('ns/a')
  })

  test('waits for the Retry-After of a 429', async () => {
    add('a')
    const fault = api.fault(times(1, isList, { kind: 'status', status: 429, retryAfterS: 1 }))
    await start().synced
    const [first, second] = api.calls.filter(isList)
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1_000)
    fault[Symbol.dispose]()
  })

  test('resumes after a truncated line', async () => {
    add('a')
    const fault = api.fault(times(2, isWatch, { kind: 'truncate' }))
    await start().synced
    add('b')
    await until('a,b')
    expect(counts.relists).toBe(1)
    fault[Symbol.dispose]()
  })

  test('keeps its objects while lists fail', async () => {
    for (const name of ['a', 'b']) add(name)
    await start().synced
    await watching()
    const lists = api.fault((call) => (isList(call) ? { kind: 'status', status: 500 } : null))
    const gone = api.fault((call) => (isWatch(call) ? { kind: 'error-event', code: 410 } : null))
    const before = changes.length
    api.silenceWatches()
    await eventually('several lists failed', () => (api.calls.filter(isList).length > 4 ? true : null))
    expect(names()).toBe('a,b')
    expect(changes.length).toBe(before)
    drop('a')
    lists[Symbol.dispose]()
    gone[Symbol.dispose]()
    await until('b')
  })

  test('keeps its objects when the second page of a list fails', async () => {
    for (let i = 0; i < 501; i += 1) add(`a${i}`)
    const fault = api.fault(
      times(2, (call) => isList(call) && call.query.has('continue'), { kind: 'status', status: 500 }),
    )
    await start().synced
    expect(reflector?.list()).toHaveLength(501)
    fault[Symbol.dispose]()
  })

  test('is not synced before a slow list ends, and reports its staleness', async () => {
    add('a')
    const fault = api.fault(times(1, isList, { kind: 'delay', ms: 300 }))
    start()
    expect(reflector?.isSynced()).toBe(false)
    await reflector?.synced
    expect(names()).toBe('a')
    await watching()
    api.silenceWatches()
    await eventually('it grows old', () => ((reflector?.stalenessMs() ?? 0) > 200 ? true : null))
    fault[Symbol.dispose]()
  })

  test('never retries faster than its back-off', async () => {
    const fault = api.fault(() => ({ kind: 'status', status: 500 }))
    start({ ...QUICK, minMs: 50, maxMs: 200 })
    await eventually('it asked often', () => (api.calls.length >= 6 ? true : null))
    const times = api.calls.map(({ at }) => at)
    const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0))
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(24)
    expect(Math.max(...gaps.slice(3))).toBeGreaterThanOrEqual(90)
    fault[Symbol.dispose]()
  })
})
