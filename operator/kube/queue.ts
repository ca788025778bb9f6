import type { Logger } from 'pino'
import { ChaperoneError } from '../../core/errors.ts'
import { type BackOff, createBackOff } from '../../core/state/back-off.ts'
import { retryAfterMs } from './kube-failure.ts'

/**
 * Queue of keys with the semantics of a Kubernetes work queue: a pending key is queued once, a key that is added while
 * its work runs is queued again afterwards, and the work of one key never runs twice at a time.
 */
export type WorkQueue = {
  add(key: string): void
  /** Adds the key after `ms`. When a key has two pending delays, the earlier one applies. */
  addAfter(key: string, ms: number): void
  /** Returns the number of pending and running keys. */
  depth(): number
  /** Discards pending keys and resolves when the running work has ended. */
  stop(): Promise<void>
}

export type WorkQueueDeps = {
  /** Processes one key by its current state. A rejection queues the key again with back-off. */
  readonly work: (key: string) => Promise<void>
  readonly concurrency?: number
  /** Limits the workers of one group of keys, such as a namespace. Default: no groups. */
  readonly groups?: { readonly of: (key: string) => string; readonly concurrency: number }
  readonly log: Logger
  /** Log message for a failure. Default: `reconcile failed, retrying`. */
  readonly failureMessage?: (error: unknown) => string
  readonly random?: () => number
  /** Shortest and longest delay after failures; default 5 ms and 5 min. */
  readonly minMs?: number
  readonly maxMs?: number
}

const MIN_MS = 5
const MAX_MS = 5 * 60_000
const CONCURRENCY = 4

export function createWorkQueue(deps: WorkQueueDeps): WorkQueue {
  const { work, concurrency = CONCURRENCY } = deps
  const groups = createGroupCount(deps.groups)
  const failures = createFailures(deps)
  const pending = new Set<string>()
  const again = new Set<string>()
  const running = new Map<string, Promise<void>>()
  const delayed = createDelays(add)
  let isStopped = false

  function add(key: string): void {
    if (isStopped) return
    if (running.has(key)) again.add(key)
    else pending.add(key)
    startWork()
  }

  function startWork(): void {
    for (const key of pending) {
      if (isStopped || running.size >= concurrency) return
      if (!groups.begin(key)) continue
      pending.delete(key)
      running.set(key, run(key))
    }
  }

  async function run(key: string): Promise<void> {
    // The work starts in a later microtask, because it must not run inside the call of `add`.
    await Promise.resolve()
    try {
      await work(key)
      failures.reset(key)
    } catch (error) {
      if (!isStopped) delayed.add(key, failures.record(key, error))
    }
    running.delete(key)
    groups.end(key)
    if (again.delete(key)) pending.add(key)
    startWork()
  }

  return {
    add,
    addAfter(key, ms) {
      if (!isStopped) delayed.add(key, ms)
    },
    depth: () => pending.size + running.size,
    async stop() {
      isStopped = true
      pending.clear()
      again.clear()
      delayed.clear()
      await Promise.all(running.values())
    },
  }
}

/** Creates the timers of delayed keys, one for each key. */
function createDelays(onDue: (key: string) => void) {
  const timers = new Map<string, { readonly timer: NodeJS.Timeout; readonly dueAt: number }>()
  return {
    add(key: string, ms: number): void {
      const dueAt = performance.now() + ms
      const known = timers.get(key)
      if (known !== undefined && known.dueAt <= dueAt) return
      clearTimeout(known?.timer)
      const due = () => {
        timers.delete(key)
        onDue(key)
      }
      timers.set(key, { timer: setTimeout(due, ms), dueAt })
    },
    clear(): void {
      for (const { timer } of timers.values()) clearTimeout(timer)
      timers.clear()
    },
  }
}

/** Tracks the back-off of each failing key and logs its failures. */
function createFailures({
  log,
  random = Math.random,
  minMs = MIN_MS,
  maxMs = MAX_MS,
  ...deps
}: WorkQueueDeps) {
  const { failureMessage = () => 'reconcile failed, retrying' } = deps
  const byKey = new Map<string, { readonly backOff: BackOff; failures: number }>()
  return {
    /** Records a failure and returns the milliseconds until the next attempt. */
    record(key: string, error: unknown): number {
      const state = byKey.get(key) ?? { backOff: createBackOff({ minMs, maxMs, random }), failures: 0 }
      byKey.set(key, state)
      const retryMs = Math.max(state.backOff.next(), retryAfterMs(error) ?? 0)
      state.failures += 1
      const { failures } = state
      // Expected failures, such as an outage, are logged without a stack.
      const cause = error instanceof ChaperoneError ? { error: error.message } : { err: error }
      if (isPowerOfTwo(failures))
        log.warn({ key, failures, retry_ms: Math.round(retryMs), ...cause }, failureMessage(error))
      return retryMs
    },
    reset(key: string): void {
      byKey.delete(key)
    },
  }
}

/** Counts the running keys of each group, for its concurrency limit. */
function createGroupCount(groups: WorkQueueDeps['groups']) {
  const running = new Map<string, number>()
  return {
    /** Counts a running key. Returns false, without counting, when the group has reached its limit. */
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

/** Reports whether to log the failure with this count: of consecutive failures the 1st, 2nd, 4th, 8th, … */
function isPowerOfTwo(count: number): boolean {
  return (count & (count - 1)) === 0
}
