import { storableText } from '../storable.ts'

/** Limits of the aggregation of refusals. */
export const REFUSAL_LIMITS = {
  windowMs: 60_000,
  /** So many refusals of an agent get a record of their own, whatever they are. */
  whole: 60,
  /** Records of an agent in one window, the row that counts the rest included. */
  rows: 600,
  /** Targets that a row names. */
  shownTargets: 32,
  /** UTF-16 units of a named target. */
  targetLength: 200,
  /** Distinct targets that a row can tell apart. */
  distinctTargets: 10_000,
  /** Hashes of targets that all rows together keep. */
  rememberedTargets: 500_000,
} as const

/** What makes two refusals the same. */
export type Refusal = {
  readonly action: string | null
  readonly target: string
  readonly rule: string | null
  readonly reason: string
}

/** What a row counts. */
export type RefusalTally = {
  readonly count: number
  /** Times in ISO 8601. */
  readonly first: string
  readonly last: string
  readonly distinct_targets: number
  /** True when there were more distinct targets than could be told apart. */
  readonly more_targets: boolean
  readonly targets: readonly string[]
  /** Count by reason. */
  readonly reasons: Readonly<Record<string, number>>
}

export type RefusalRow<T> = { readonly item: T; readonly tally: RefusalTally }

export type RefusalWindows<T> = {
  /**
   * Counts a refusal of an agent. Null when it gets a record of its own; else the row that counts it, made by `open`
   * when the window has none. A window begins with the first refusal of the agent and lasts a minute of `nowMs`, which
   * must never go back.
   */
  admit(
    agent: string,
    refusal: Refusal,
    at: { readonly nowMs: number; readonly time: string },
  ): RefusalRow<T> | null
  /** Ends the windows that are over. */
  expire(nowMs: number): void
  /** Ends all windows. */
  close(): void
  /** When the next window ends; null without one. */
  readonly nextEndMs: number | null
}

export type RefusalWindowsDeps<T> = {
  readonly open: (agent: string) => T
  /** The row counts nothing more. */
  readonly onEnd: (row: RefusalRow<T>) => void
  /** A whole number below 2^53. Collisions make a refusal count as seen before. */
  readonly hash: (text: string) => number
  readonly windowMs?: number
  /** Instead of `REFUSAL_LIMITS.whole`; more than usual leave as much room for refusals of new kinds. */
  readonly whole?: number
}

type Window<T> = {
  readonly endMs: number
  rows: number
  readonly seen: Set<number>
  row: (RefusalRow<T> & { tally: RefusalTally; readonly targets: Set<number> }) | null
}

/** Decides which refusals of an agent get a record of their own, and counts the others. Memory is bounded by the limits. */
export function createRefusalWindows<T>(deps: RefusalWindowsDeps<T>): RefusalWindows<T> {
  const { open, onEnd, hash, windowMs = REFUSAL_LIMITS.windowMs } = deps
  const whole = deps.whole ?? REFUSAL_LIMITS.whole
  const limits = {
    whole,
    rows: Math.max(REFUSAL_LIMITS.rows, whole + REFUSAL_LIMITS.rows - REFUSAL_LIMITS.whole),
  }
  const windows = new Map<string, Window<T>>()
  let remembered = 0

  function end(agent: string, { row }: Window<T>): void {
    windows.delete(agent)
    if (row === null) return
    remembered -= row.targets.size
    onEnd(row)
  }

  function windowOf(agent: string, nowMs: number): Window<T> {
    const known = windows.get(agent)
    if (known !== undefined && nowMs < known.endMs) return known
    if (known !== undefined) end(agent, known)
    const window: Window<T> = { endMs: nowMs + windowMs, rows: 0, seen: new Set(), row: null }
    windows.set(agent, window)
    return window
  }

  /** True when the target could be told apart from those before, and is a new one; null when there is no room to tell. */
  function remember(targets: Set<number>, target: number): boolean | null {
    if (targets.has(target)) return false
    if (targets.size >= REFUSAL_LIMITS.distinctTargets || remembered >= REFUSAL_LIMITS.rememberedTargets)
      return null
    targets.add(target)
    remembered++
    return true
  }

  return {
    admit(agent, refusal, { nowMs, time }) {
      const window = windowOf(agent, nowMs)
      const { action, target, rule, reason } = refusal
      if (isWhole(window, hash(JSON.stringify([action, target, rule, reason])), limits)) return null
      window.row ??= { item: open(agent), tally: NOTHING, targets: new Set() }
      const { row } = window
      const isNew = remember(row.targets, hash(refusal.target))
      row.tally = { ...counted(row.tally, refusal, time), ...withTarget(row.tally, refusal.target, isNew) }
      return window.row
    },
    expire(nowMs) {
      for (const [agent, window] of windows) if (nowMs >= window.endMs) end(agent, window)
    },
    close() {
      for (const [agent, window] of windows) end(agent, window)
    },
    get nextEndMs() {
      // In order of their start: the first ends first.
      return windows.values().next().value?.endMs ?? null
    },
  }
}

const NOTHING: RefusalTally = {
  ...{ count: 0, first: '', last: '', distinct_targets: 0, more_targets: false },
  ...{ targets: [], reasons: {} },
}

type Limits = { readonly whole: number; readonly rows: number }

function isWhole(window: Pick<Window<unknown>, 'rows' | 'seen'>, key: number, limits: Limits): boolean {
  if (window.rows >= limits.rows - 1) return false
  if (window.rows >= limits.whole && window.seen.has(key)) return false
  window.seen.add(key)
  window.rows++
  return true
}

function counted({ count, first, last, reasons }: RefusalTally, { reason }: Refusal, time: string) {
  return {
    count: count + 1,
    first: first === '' ? time : first,
    // The clock may have been set back.
    last: time > last ? time : last,
    reasons: { ...reasons, [reason]: (reasons[reason] ?? 0) + 1 },
  }
}

type Targets = Pick<RefusalTally, 'distinct_targets' | 'more_targets' | 'targets'>

function withTarget(tally: RefusalTally, target: string, isNew: boolean | null): Targets {
  const { distinct_targets, more_targets, targets } = tally
  if (isNew !== true) return { distinct_targets, more_targets: more_targets || isNew === null, targets }
  const isShown = targets.length < REFUSAL_LIMITS.shownTargets
  const shown = storableText(target.slice(0, REFUSAL_LIMITS.targetLength))
  return {
    distinct_targets: distinct_targets + 1,
    more_targets,
    targets: isShown ? [...targets, shown] : targets,
  }
}

const number = new Intl.NumberFormat('en-US')

/** `1,240 refusals from TIME to TIME, 87 targets`. `time` formats an ISO 8601 moment. */
export function refusalsText(
  tally: Pick<RefusalTally, 'count' | 'first' | 'last' | 'distinct_targets' | 'more_targets'>,
  time: (iso: string) => string = (iso) => iso,
): string {
  const { count, first, last, distinct_targets: targets, more_targets: isMore } = tally
  const refusals = count === 1 ? '1 refusal' : `${number.format(count)} refusals`
  const named =
    targets === 1 && !isMore ? '1 target' : `${number.format(targets)}${isMore ? ' or more' : ''} targets`
  return `${refusals} from ${time(first)} to ${time(last)}, ${named}`
}
