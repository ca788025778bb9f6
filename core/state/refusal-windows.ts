import { storableText } from '../storable.ts'
import { createRefusalLimits, REFUSAL_LIMITS, type RefusalLimits } from './refusal-limits.ts'

/** Identity of a refusal. Two refusals with equal values count as a repetition. */
export type Refusal = {
  readonly action: string | null
  readonly target: string
  readonly rule: string | null
  readonly reason: string
  /** True if a rule, a kill switch or the lack of a permission refused the request; false if no rule was evaluated. */
  readonly isJudged: boolean
}

/** Counts in an aggregate record. */
export type RefusalTally = {
  readonly count: number
  /** Times of the first and last refusal, ISO 8601. */
  readonly first: string
  readonly last: string
  readonly distinct_targets: number
  /** True if there were more distinct targets than the limit. */
  readonly more_targets: boolean
  readonly targets: readonly string[]
  /** Number of refusals by reason. */
  readonly reasons: Readonly<Record<string, number>>
  /**
   * Number of refusals by action type. At most `REFUSAL_LIMITS.countedOfConnector` types of one connector have their
   * own key; a key such as `mcp.*` counts the others. At most `countedActions` types have their own key in total; `*`
   * counts the others.
   */
  readonly actions: Readonly<Record<string, number>>
}

export type RefusalRow<T> = { readonly item: T; readonly tally: RefusalTally }

export type RefusalWindows<T> = {
  /**
   * Counts a refusal of an agent. Returns null if the refusal gets a record of its own; otherwise returns the aggregate
   * record that counts the refusal, created by `open` if the window has none. A window begins with the first refusal of
   * the agent and lasts one minute of `nowMs`, which must never decrease.
   */
  admit(
    agent: string,
    refusal: Refusal,
    at: { readonly nowMs: number; readonly time: string },
  ): RefusalRow<T> | null
  /**
   * Takes one of the records that an agent may have for evaluated requests in the current window. Returns false if none
   * is left. With `isForced`, takes a record even beyond the limit.
   */
  take(agent: string, nowMs: number, isForced?: boolean): boolean
  /** Ends the windows whose duration has passed. */
  expire(nowMs: number): void
  close(): void
  /** Time at which the next window ends; null if there is no window. */
  readonly nextEndMs: number | null
}

export type RefusalWindowsDeps<T> = {
  readonly open: (agent: string) => T
  /** Receives each aggregate record when its window ends. The record does not change after that. */
  readonly onEnd: (row: RefusalRow<T>) => void
  /** Returns a hash of the text, an integer below 2^53. A collision makes a new refusal count as a repetition. */
  readonly hash: (text: string) => number
  readonly windowMs?: number
  /**
   * Overrides `REFUSAL_LIMITS.whole`. A value above the default also raises the maximum number of records in a window.
   */
  readonly whole?: number
  /**
   * Returns the number of processes that serve the agent. Each process takes an equal part of the limits. Default: 1.
   */
  readonly processesOf?: (agent: string) => number
  /**
   * Reserves capacity for a record, in addition to the limits of the window. If the function returns false, the
   * aggregate record counts the refusal instead.
   */
  readonly claim?: (agent: string, nowMs: number) => boolean
}

type Admission<T> = {
  readonly of: RefusalClass<T>
  readonly refusal: Refusal
  readonly agent: string
  readonly nowMs: number
}

type Window<T> = { readonly endMs: number; readonly classes: readonly [RefusalClass<T>, RefusalClass<T>] }

/** State of one class of an agent's refusals: evaluated or unevaluated requests. */
type RefusalClass<T> = {
  rows: number
  readonly seen: Set<number>
  /** Number of records taken from the reserve for new action types, by connector type. */
  readonly reserved: Map<string, number>
  row: (RefusalRow<T> & { tally: RefusalTally; readonly targets: Set<number> }) | null
}

/**
 * Determines which refusals of an agent get a record of their own, and counts all others. Evaluated and unevaluated
 * requests have separate limits and aggregate records, so that malformed requests cannot displace denials. The limits
 * also bound the memory.
 */
export function createRefusalWindows<T>(deps: RefusalWindowsDeps<T>): RefusalWindows<T> {
  const { open, onEnd, hash, windowMs = REFUSAL_LIMITS.windowMs } = deps
  const whole = deps.whole ?? REFUSAL_LIMITS.whole
  const limitsOf = createRefusalLimits(whole)
  const partOf = (agent: string) => limitsOf(deps.processesOf?.(agent) ?? 1)
  const windows = new Map<string, Window<T>>()
  const targets = createTargets()

  function end(agent: string, { classes }: Window<T>): void {
    windows.delete(agent)
    for (const { row } of classes) {
      if (row !== null) targets.release(row.targets)
      if (row !== null) onEnd(row)
    }
  }

  function windowOf(agent: string, nowMs: number): Window<T> {
    const known = windows.get(agent)
    if (known !== undefined && nowMs < known.endMs) return known
    if (known !== undefined) end(agent, known)
    const window: Window<T> = { endMs: nowMs + windowMs, classes: [emptyClass(), emptyClass()] }
    windows.set(agent, window)
    return window
  }

  function isWhole({ of, refusal, agent, nowMs }: Admission<T>): boolean {
    const { action, target, rule, reason } = refusal
    const key = hash(JSON.stringify([action, target, rule, reason]))
    const kind = action === null ? null : hash(JSON.stringify([action]))
    if (!hasRoom(of, { refusal, key, kind, limits: partOf(agent) })) return false
    if (deps.claim?.(agent, nowMs) === false) return false
    of.seen.add(key)
    if (kind !== null) of.seen.add(kind)
    of.rows++
    return true
  }

  return {
    admit(agent, refusal, { nowMs, time }) {
      const of = windowOf(agent, nowMs).classes[refusal.isJudged ? 0 : 1]
      if (isWhole({ of, refusal, agent, nowMs })) return null
      of.row ??= { item: open(agent), tally: NOTHING, targets: new Set() }
      const { row } = of
      const isNew = targets.remember(row.targets, hash(refusal.target))
      row.tally = { ...counted(row.tally, refusal, time), ...withTarget(row.tally, refusal.target, isNew) }
      return row
    },
    take(agent, nowMs, isForced = false) {
      const [of] = windowOf(agent, nowMs).classes
      const limit = rowLimit({ isJudged: true, action: null }, partOf(agent)) - 1
      if (of.rows >= limit && !isForced) return false
      of.rows++
      return true
    },
    expire(nowMs) {
      for (const [agent, window] of windows) if (nowMs >= window.endMs) end(agent, window)
    },
    close() {
      for (const [agent, window] of windows) end(agent, window)
    },
    get nextEndMs() {
      // The map has the windows in the order of their start, so the first one ends first.
      return windows.values().next().value?.endMs ?? null
    },
  }
}

/** Creates the counter of target hashes, with one limit for all aggregate records together. */
function createTargets() {
  let remembered = 0
  return {
    /**
     * Adds a target to the targets of an aggregate record. Returns true for a new target, false for a known one, and
     * null if a limit is reached.
     */
    remember(targets: Set<number>, target: number): boolean | null {
      if (targets.has(target)) return false
      if (targets.size >= REFUSAL_LIMITS.distinctTargets || remembered >= REFUSAL_LIMITS.rememberedTargets)
        return null
      targets.add(target)
      remembered++
      return true
    },
    release(targets: ReadonlySet<number>) {
      remembered -= targets.size
    },
  }
}

type Judgement = {
  readonly refusal: Refusal
  /** Hashes of the refusal: `key` of all its values, `kind` of its action type. */
  readonly key: number
  readonly kind: number | null
  readonly limits: RefusalLimits
}

function hasRoom(of: RefusalClass<unknown>, judgement: Judgement): boolean {
  const { refusal, key, limits } = judgement
  const isBelow = of.rows < rowLimit(refusal, limits) - 1 && (of.rows < limits.whole || !of.seen.has(key))
  return isBelow || isReserved(of, judgement)
}

/**
 * Takes a record from the reserve for action types without a record in this window. Returns false if the reserve does
 * not apply or is exhausted.
 */
function isReserved(
  { rows, seen, reserved }: RefusalClass<unknown>,
  { refusal: { isJudged, action }, kind, limits }: Judgement,
): boolean {
  if (!isJudged || action === null || kind === null || rows >= limits.judgedRows - 1) return false
  const connector = connectorOf(action)
  const taken = reserved.get(connector) ?? 0
  if (taken >= limits.newActionsOfConnector || seen.has(kind)) return false
  reserved.set(connector, taken + 1)
  return true
}

const NOTHING: RefusalTally = {
  count: 0,
  first: '',
  last: '',
  distinct_targets: 0,
  more_targets: false,
  targets: [],
  reasons: {},
  actions: {},
}

function emptyClass<T>(): RefusalClass<T> {
  return { rows: 0, seen: new Set(), reserved: new Map(), row: null }
}

/** Returns the maximum number of records for a refusal of this kind, without the reserve for new action types. */
function rowLimit({ isJudged, action }: Pick<Refusal, 'isJudged' | 'action'>, limits: RefusalLimits): number {
  if (!isJudged) return limits.unjudgedRows
  return limits.judgedRows - limits.newActionReserve - (action === null ? limits.actionReserve : 0)
}

/** Returns the first segment of an action type. */
function connectorOf(action: string): string {
  const end = action.indexOf('.')
  return end === -1 ? action : action.slice(0, end)
}

function counted(tally: RefusalTally, { reason, action }: Refusal, time: string) {
  const { count, first, last, reasons, actions } = tally
  return {
    count: count + 1,
    first: first === '' ? time : first,
    // The wall clock may have been set back since the last refusal.
    last: time > last ? time : last,
    reasons: increased(reasons, reason),
    actions: action === null ? actions : increased(actions, countedAs(actions, action)),
  }
}

const OTHER_ACTIONS = '*'
const MAX_ACTION = 200

function countedAs(actions: RefusalTally['actions'], action: string): string {
  const shown = storableText(action.slice(0, MAX_ACTION))
  if (Object.hasOwn(actions, shown)) return shown
  const types = Object.keys(actions)
  const prefix = `${connectorOf(shown)}.`
  const { countedActions, countedOfConnector } = REFUSAL_LIMITS
  if (types.length >= countedActions)
    return Object.hasOwn(actions, `${prefix}*`) ? `${prefix}*` : OTHER_ACTIONS
  return types.filter((type) => type.startsWith(prefix)).length < countedOfConnector ? shown : `${prefix}*`
}

function increased(counts: Readonly<Record<string, number>>, key: string): Readonly<Record<string, number>> {
  return { ...counts, [key]: (Object.hasOwn(counts, key) ? (counts[key] ?? 0) : 0) + 1 }
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
