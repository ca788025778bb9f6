import type { Logger } from 'pino'
import { createBackOff } from '../../core/state/back-off.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { KubeClient } from './client.ts'
import { hasCode, retryAfterMs } from './kube-failure.ts'
import { listPages, type Selection } from './list-pages.ts'
import { createObjectCache, type ObjectCache } from './object-cache.ts'
import type { KubeObject } from './objects.ts'
import { type WatchEvent, watchEvents } from './watch-events.ts'

/** Informer: a cache of all objects of one kind, kept current by a list and a watch. */
export type Reflector<T extends KubeObject> = {
  /** Resolves after the first complete list. */
  readonly synced: Promise<void>
  isSynced(): boolean
  get(key: string): T | undefined
  list(): readonly T[]
  /** Returns the resource version of the cache; null before the first list. */
  resourceVersion(): string | null
  /** Returns the milliseconds since the API server last sent data about this kind. */
  stalenessMs(): number
  /** True from a failure of the list or the watch until the next watch is open. */
  isBroken(): boolean
  stop(): Promise<void>
}

export type ReflectorMetrics = {
  /** Counts an attempt to open a watch. */
  restarted(resource: string): void
  /** Counts a complete list, the first one included. */
  relisted(resource: string): void
}

export type ReflectorTiming = {
  /** Range of the random watch timeout, in seconds. */
  readonly watchS: readonly [number, number]
  /**
   * Milliseconds without data after which a watch counts as broken: the API server sends a bookmark about once a
   * minute.
   */
  readonly idleMs: number
  readonly minMs: number
  readonly maxMs: number
}

export type ReflectorDeps<T extends KubeObject> = {
  readonly client: KubeClient
  /** Name of the resource in logs and metrics. */
  readonly resource: string
  readonly selection: Selection
  /** Called with the key of every added, changed or deleted object. */
  readonly onChange: (key: string) => void
  readonly log: Logger
  readonly metrics: ReflectorMetrics
  readonly timing?: ReflectorTiming
  readonly random?: () => number
  /** Reduces each object to the cached fields. */
  readonly trim?: (object: KubeObject) => T
}

const WATCH_TIMING: ReflectorTiming = { watchS: [290, 590], idleMs: 90_000, minMs: 800, maxMs: 30_000 }
/**
 * Time in milliseconds after which a watch counts as healthy and resets the back-off. A watch with a shorter
 * timeout counts as healthy after half of its timeout.
 */
const HEALTHY_MS = 10_000

export function createReflector<T extends KubeObject>(deps: ReflectorDeps<T>): Reflector<T> {
  const stopped = new AbortController()
  const synced = Promise.withResolvers<void>()
  const cache = createObjectCache<T>(deps.onChange)
  const state: State<T> = {
    cache,
    version: null,
    isSynced: false,
    isBroken: false,
    receivedAt: performance.now(),
  }
  const running = run(deps, state, { signal: stopped.signal, synced: synced.resolve })
  return {
    synced: synced.promise,
    isSynced: () => state.isSynced,
    get: cache.get,
    list: cache.list,
    resourceVersion: () => state.version,
    stalenessMs: () => performance.now() - state.receivedAt,
    isBroken: () => state.isBroken,
    async stop() {
      stopped.abort()
      await running
    },
  }
}

type State<T extends KubeObject> = {
  readonly cache: ObjectCache<T>
  version: string | null
  isSynced: boolean
  isBroken: boolean
  receivedAt: number
}
type Control = { readonly signal: AbortSignal; readonly synced: () => void }

async function run<T extends KubeObject>(
  deps: ReflectorDeps<T>,
  state: State<T>,
  control: Control,
): Promise<void> {
  const { timing = WATCH_TIMING, random = Math.random } = deps
  const { signal } = control
  const backOff = createBackOff({ ...timing, random })
  const healthyMs = Math.min(HEALTHY_MS, timing.watchS[0] * 500)
  while (!signal.aborted) {
    const startedAt = performance.now()
    const failure = await follow(deps, state, { ...control, onEvent: backOff.reset })
    state.isBroken = failure !== null
    const isHealthy = performance.now() - startedAt > healthyMs
    if (isHealthy) backOff.reset()
    // The API server ends every watch at its timeout. A pause after such an end would delay a kill switch.
    if (failure === null && isHealthy) continue
    await sleep(Math.max(backOff.next(), retryAfterMs(failure) ?? 0), signal)
  }
}

/** Lists if needed, then watches. Resolves with the failure that ended the watch; null when it ended regularly. */
async function follow<T extends KubeObject>(
  deps: ReflectorDeps<T>,
  state: State<T>,
  { signal, synced, onEvent }: Control & Watching,
): Promise<unknown> {
  try {
    if (state.version === null) await relist(deps, state, signal)
    synced()
    await watch(deps, state, { signal, onEvent })
    return null
  } catch (error) {
    // The API server no longer has the events after the last seen version. Only a new list shows the deletions since
    // then.
    if (hasCode(error, 'gone')) state.version = null
    const { resource: watched, log } = deps
    if (!signal.aborted)
      log.warn({ watched, relist: state.version === null, err: error }, 'watch interrupted')
    return error
  }
}

async function relist<T extends KubeObject>(
  { client, selection, metrics, resource, trim = whole }: ReflectorDeps<T>,
  state: State<T>,
  signal: AbortSignal,
): Promise<void> {
  const { items, resourceVersion } = await listPages<KubeObject>(client, selection, signal)
  state.version = resourceVersion
  state.receivedAt = performance.now()
  state.isSynced = true
  metrics.relisted(resource)
  state.cache.replace(items.map(trim))
}

type Watching = { readonly signal: AbortSignal; readonly onEvent: () => void }

async function watch<T extends KubeObject>(
  deps: ReflectorDeps<T>,
  state: State<T>,
  { signal, onEvent }: Watching,
): Promise<void> {
  const {
    client,
    selection,
    timing = WATCH_TIMING,
    random = Math.random,
    metrics,
    resource,
    trim = whole,
  } = deps
  metrics.restarted(resource)
  const idle = watchdog(timing.idleMs, signal)
  try {
    const query = watchQuery(selection, state.version ?? '', timing, random)
    const { path, metadataOnly = false } = selection
    const view = metadataOnly ? { metadata: 'object' as const } : {}
    const body = await client.open({ path, query, ...view, signal: idle.signal })
    state.isBroken = false
    state.receivedAt = performance.now()
    body.on('data', idle.alive)
    for await (const event of watchEvents(body)) {
      state.receivedAt = performance.now()
      state.version = event.object.metadata.resourceVersion
      onEvent()
      take(state.cache, event.type, () => trim(event.object as KubeObject))
    }
  } finally {
    idle.stop()
  }
}

function take<T extends KubeObject>(cache: ObjectCache<T>, type: WatchEvent['type'], object: () => T): void {
  if (type === 'BOOKMARK') return
  if (type === 'DELETED') cache.remove(object())
  else cache.put(object())
}

/** Returns the object with its type. No validation is needed, because the API server has validated it. */
function whole<T extends KubeObject>(object: KubeObject): T {
  return object as T
}

function watchQuery(
  { labelSelector, fieldSelector }: Selection,
  resourceVersion: string,
  { watchS: [least, most] }: ReflectorTiming,
  random: () => number,
) {
  const timeoutSeconds = Math.round(least + (most - least) * random())
  return {
    watch: true,
    allowWatchBookmarks: true,
    resourceVersion,
    timeoutSeconds,
    labelSelector,
    fieldSelector,
  }
}

/** Creates a signal that aborts after `idleMs` without data, which detects a half-open connection. */
export function watchdog(idleMs: number, parent: AbortSignal) {
  const dead = new AbortController()
  const expire = () => dead.abort(new Error(`the watch received no data for ${idleMs} ms`))
  let timer = setTimeout(expire, idleMs)
  return {
    signal: AbortSignal.any([parent, dead.signal]),
    alive: () => {
      clearTimeout(timer)
      timer = setTimeout(expire, idleMs)
    },
    stop: () => clearTimeout(timer),
  }
}
