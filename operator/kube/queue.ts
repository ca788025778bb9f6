import type { Logger } from 'pino'
import { ChaperoneError } from '../../core/errors.ts'
import { type BackOff, createBackOff } from './back-off.ts'
import { retryAfterMs } from './kube-failure.ts'

/**
 * Keys to work on. A key that is added while it waits is there once; one that is added while it is worked on is worked
 * on once more afterwards; no key is worked on twice at a time.
 */
export type WorkQueue = {
  add(key: string): void
  addAfter(key: string, ms: number): void
  /** Keys that wait or are worked on. */
  depth(): number
  /** Takes nothing more; resolves when what was begun has ended. */
  stop(): Promise<void>
}

export type WorkQueueDeps = {
  /** Looks at the key's state as it is now. A rejection puts the key back, 5 ms to 5 min later. */
  readonly work: (key: string) => Promise<void>
  readonly concurrency?: number
  /** Keys of one group, such as those of one namespace, leave workers to the others. Default: no groups. */
  readonly groups?: { readonly of: (key: string) => string; readonly concurrency: number }
  readonly log: Logger
  readonly onFailure?: (key: string) => void
  readonly random?: () => number
  /** The longest wait after failures; default 5 min. */
  readonly maxMs?: number
}

const MIN_MS = 5
const MAX_MS = 5 * 60_000
const CONCURRENCY = 4

export function createWorkQueue(deps: WorkQueueDeps): WorkQueue {
  const { work, log, concurrency = CONCURRENCY, onFailure, random = Math.random, maxMs = MAX_MS } = deps
  const groups = createGroupCount(deps.groups)
  const waiting = new Set<string>()
  const again = new Set<string>()
  const running = new Map<string, Promise<void>>()
  const timers = new Map<string, NodeJS.Timeout>()
  const backOffs = new Map<string, BackOff & { failures: number }>()
  let isStopped = false

  function add(key: string): void {
    if (isStopped) return
    if (running.has(key)) again.add(key)
    else waiting.add(key)
    pump()
  }

  function addAfter(key: string, ms: number): void {
    if (isStopped) return
    // The earlier of two appointments stands: whoever comes early looks at everything.
    if (timers.has(key)) return
    const due = () => {
      timers.delete(key)
      add(key)
    }
    timers.set(key, setTimeout(due, ms))
  }

  function pump(): void {
    for (const key of waiting) {
      if (isStopped || running.size >= concurrency) return
      if (!groups.begin(key)) continue
      waiting.delete(key)
      running.set(key, run(key))
    }
  }

  async function run(key: string): Promise<void> {
    // Not in the caller's own tick: who adds a key is never kept by the work.
    await Promise.resolve()
    try {
      await work(key)
      backOffs.delete(key)
    } catch (error) {
      fail(key, error)
    }
    running.delete(key)
    groups.end(key)
    if (again.delete(key)) waiting.add(key)
    pump()
  }

  function fail(key: string, error: unknown): void {
    if (isStopped) return
    const backOff = backOffs.get(key) ?? { ...createBackOff({ minMs: MIN_MS, maxMs, random }), failures: 0 }
    backOffs.set(key, backOff)
    const retryMs = Math.max(backOff.next(), retryAfterMs(error) ?? 0)
    backOff.failures += 1
    if (isWorthSaying(backOff.failures))
      say(error, { key, failures: backOff.failures, retry_ms: Math.round(retryMs) })
    onFailure?.(key)
    addAfter(key, retryMs)
  }

  /** Somebody who is away needs no stack. */
  function say(error: unknown, fields: object): void {
    const why = error instanceof ChaperoneError ? { error: error.message } : { err: error }
    log.warn({ ...fields, ...why }, 'reconcile failed, trying again')
  }

  return {
    add,
    addAfter,
    depth: () => waiting.size + running.size,
    async stop() {
      isStopped = true
      waiting.clear()
      again.clear()
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
      await Promise.all(running.values())
    },
  }
}

/** Counts the keys of each group that are worked on. */
function createGroupCount(groups: WorkQueueDeps['groups']) {
  const running = new Map<string, number>()
  return {
    /** False for a key whose group has all of its workers. */
    begin(key: string): boolean {
      if (groups === undefined) return true
      const group = groups.of(key)
      const now = running.get(group) ?? 0
      if (now >= groups.concurrency) return false
      running.set(group, now + 1)
      return true
    },
    end(key: string): void {
      if (groups === undefined) return
      const group = groups.of(key)
      const left = (running.get(group) ?? 1) - 1
      if (left === 0) running.delete(group)
      else running.set(group, left)
    },
  }
}

/** The first failure of a row, then ever fewer of them: 1, 2, 4, 8, … */
function isWorthSaying(failures: number): boolean {
  return (failures & (failures - 1)) === 0
}
