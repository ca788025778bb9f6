import type { Logger } from 'pino'
import { type BackOff, createBackOff } from '../../core/state/back-off.ts'
import { type GuardLoss, type GuardPart, watchGuardObjects } from '../guard/guard-watch.ts'
import type { KubeClient } from '../kube/client.ts'
import type { EventRecorder } from '../kube/events.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { claimFields, managedFieldsOf, otherManagers } from '../kube/managed-fields.ts'

export type GuardRestorationDeps = {
  readonly client: KubeClient
  readonly log: Logger
  readonly recorder: EventRecorder
  readonly restorers: {
    readonly webhook: () => Promise<void>
    readonly policy: () => Promise<void>
    /** Resolves with false when the namespace needs no trust bundle. */
    readonly trust: (namespace: string) => Promise<boolean>
  }
}

/** Discards the counts of the reflectors: the metrics of the operator do not cover these watches. */
const UNCOUNTED = { restarted: () => undefined, relisted: () => undefined }
const CONSEQUENCES: Readonly<Record<GuardLoss['change'], Readonly<Record<GuardPart['part'], string>>>> = {
  deleted: {
    webhook: 'While the object is missing, pods with the annotation chaperone.dev/gateway are refused',
    policy: 'While the object and the webhook are missing, pods can start ungoverned',
    trust: 'While the object is missing, new governed pods of the namespace cannot start',
  },
  changed: {
    webhook: 'While the object is changed, pods with the annotation chaperone.dev/gateway may be refused',
    policy: 'While the object and the webhook are changed, pods can start ungoverned',
    trust: 'While the object is changed, new sidecars of the namespace cannot verify the control plane',
  },
}

/**
 * Shortest and longest pause, in milliseconds, between two restorations of an object that another client
 * changes again and again.
 */
const PAUSE = { minMs: 1_000, maxMs: 5 * 60_000, random: Math.random }
/** Shortest and longest pause, in milliseconds, between two attempts of a restoration that fails. */
const RETRY = { minMs: 1_000, maxMs: 60_000, random: Math.random }
/** Time in milliseconds without a change after which the pauses begin again: the next change is restored at once. */
const QUIET_MS = 10 * 60_000

type Pace = {
  readonly backOff: BackOff
  lastAt: number
  /** Change that is restored when the timer of the object fires; null without a timer. */
  pending: GuardLoss | null
}

type Retry = { readonly backOff: BackOff; timer: NodeJS.Timeout | undefined }

/**
 * Restores objects of the guard (webhook configurations, admission policies, trust bundles) that were deleted or
 * changed, and records an Event on each. A deletion, and the first change of an object, is restored at once; repeated
 * changes are restored at growing intervals. A failed restoration is repeated at growing intervals until it succeeds.
 */
export function startGuardRestoration(deps: GuardRestorationDeps): { stop(): Promise<void> } {
  const { client, log } = deps
  const timers = createTimers()
  const paces = new Map<string, Pace>()
  /** Restorations that failed, by path of the object. */
  const retries = new Map<string, Retry>()

  async function restoreNow(loss: GuardLoss): Promise<void> {
    const { kind, change, metadata, path } = loss
    timers.cancel(retries.get(path)?.timer)
    try {
      await restore(loss, deps)
      retries.delete(path)
    } catch (error) {
      log.error({ err: error, kind, name: metadata.name, change }, 'guard object could not be restored')
      retryLater(loss)
    }
  }

  function retryLater(loss: GuardLoss): void {
    const retry = retries.get(loss.path) ?? { backOff: createBackOff(RETRY), timer: undefined }
    retries.set(loss.path, retry)
    timers.cancel(retry.timer)
    retry.timer = timers.start(() => void restoreNow(loss), retry.backOff.next())
  }

  function restorePaced(loss: GuardLoss): void {
    const now = performance.now()
    const pace = paces.get(loss.path) ?? { backOff: createBackOff(PAUSE), lastAt: -QUIET_MS, pending: null }
    paces.set(loss.path, pace)
    if (pace.pending !== null) {
      pace.pending = loss
      return
    }
    const isQuiet = now - pace.lastAt >= QUIET_MS
    if (isQuiet) pace.backOff.reset()
    pace.pending = loss
    timers.start(
      () => {
        const latest = pace.pending
        Object.assign(pace, { pending: null, lastAt: performance.now() })
        if (latest !== null) void restoreNow(latest)
      },
      isQuiet ? 0 : pace.backOff.next(),
    )
  }

  const watch = watchGuardObjects({
    client,
    log,
    metrics: UNCOUNTED,
    onLoss: (loss) => void (loss.change === 'deleted' ? restoreNow : restorePaced)(loss),
  })
  return {
    async stop() {
      timers.stop()
      await watch.stop()
    },
  }
}

type Timers = {
  start(callback: () => void, ms: number): NodeJS.Timeout | undefined
  cancel(timer: NodeJS.Timeout | undefined): void
  /** Cancels all timers. Later timers do not start. */
  stop(): void
}

function createTimers(): Timers {
  const running = new Set<NodeJS.Timeout>()
  let isStopped = false
  const cancel = (timer: NodeJS.Timeout | undefined): void => {
    if (timer === undefined) return
    clearTimeout(timer)
    running.delete(timer)
  }
  return {
    start(callback, ms) {
      if (isStopped) return undefined
      const timer = setTimeout(() => {
        running.delete(timer)
        callback()
      }, ms)
      running.add(timer)
      return timer
    },
    cancel,
    stop() {
      isStopped = true
      for (const timer of running) cancel(timer)
    },
  }
}

async function restore(loss: GuardLoss, deps: GuardRestorationDeps): Promise<void> {
  const { part, apiVersion, kind, metadata, change } = loss
  const { log, recorder, restorers } = deps
  if (part === 'trust') {
    if (!(await restorers.trust(metadata.namespace ?? ''))) return
  } else {
    if (change === 'changed') await claim(loss, deps)
    await restorers[part]()
  }
  const { name, namespace } = metadata
  log.warn({ kind, name, namespace, change }, 'guard object restored')
  const by = change === 'deleted' ? '' : byWhom(loss)
  const done = change === 'deleted' ? 'deleted it' : 'changed it'
  await recorder.record(
    { apiVersion, kind, metadata },
    {
      type: 'Warning',
      reason: change === 'deleted' ? 'GuardDeleted' : 'GuardChanged',
      action: 'Restore',
      note: `${kind} ${name} was ${change}${by}, and Chaperone restored it. ${CONSEQUENCES[change][part]}. The audit log of the API server names who ${done}.`,
    },
  )
}

function byWhom({ metadata }: GuardLoss): string {
  const managers = otherManagers(managedFieldsOf({ metadata }))
  return managers.length === 0 ? '' : ` by ${managers.join(', ')}`
}

/**
 * Makes the operator the owner of the fields that another client added. Ignores a conflict, because the watch
 * also reports the change that caused the conflict.
 */
async function claim({ path, metadata }: GuardLoss, { client }: GuardRestorationDeps): Promise<void> {
  try {
    await claimFields(client, path, { metadata })
  } catch (error) {
    if (!hasCode(error, 'conflict')) throw error
  }
}
