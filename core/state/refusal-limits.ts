/**
 * Limits for records of refusals. Refusals of an agent beyond the limits are counted in one aggregate record per
 * window.
 */
export const REFUSAL_LIMITS = {
  windowMs: 60_000,
  /**
   * Number of an agent's first refusals in each class (evaluated and unevaluated requests) that get records of their
   * own, even if the refusals repeat.
   */
  whole: 60,
  /**
   * Maximum number of records per agent and window for requests that no rule evaluated, including the aggregate
   * record.
   */
  unjudgedRows: 100,
  /**
   * Maximum number of records per agent and window for evaluated requests, including the aggregate record. Together,
   * both classes have 600 records.
   */
  judgedRows: 500,
  /**
   * Part of `judgedRows` that is reserved for denied actions, because agents can invent hosts, but not action types.
   */
  actionReserve: 100,
  /** Part of `judgedRows` that is reserved for action types without a record in the window. */
  newActionReserve: 100,
  /** Maximum part of `newActionReserve` for one connector type, because agents can invent names of MCP tools. */
  newActionsOfConnector: 25,
  /** Maximum number of action types that an aggregate record counts separately: of one connector type, and in total. */
  countedOfConnector: 32,
  countedActions: 128,
  /** Maximum number of targets that an aggregate record lists. */
  shownTargets: 32,
  /** Maximum length of a listed target in UTF-16 units. */
  targetLength: 200,
  /** Maximum number of distinct targets that an aggregate record can count. */
  distinctTargets: 10_000,
  /** Maximum number of target hashes that a process keeps for all aggregate records together. */
  rememberedTargets: 500_000,
} as const

/** Limits for one gateway process. If several processes serve an agent, each has a part of the limits. */
export type RefusalLimits = Readonly<
  Record<
    'whole' | 'unjudgedRows' | 'judgedRows' | 'actionReserve' | 'newActionReserve' | 'newActionsOfConnector',
    number
  >
>

/**
 * Returns a function that computes the limits of each process from the number of processes. `whole` overrides the
 * default of `REFUSAL_LIMITS.whole`. Each process has at least one record per class, the aggregate record, so the
 * default total of 600 records holds for up to 300 processes.
 */
export function createRefusalLimits(whole: number): (processes: number) => RefusalLimits {
  const more = Math.max(0, whole - REFUSAL_LIMITS.whole)
  const known = new Map<number, RefusalLimits>()
  return (processes) => {
    const part = (limit: number) => Math.floor(limit / Math.max(1, processes))
    const limits = known.get(processes) ?? limitsFor({ whole, more, part })
    if (known.size > MAX_PARTS) known.clear()
    known.set(processes, limits)
    return limits
  }
}

const MAX_PARTS = 100

type Parts = {
  readonly whole: number
  /** Number of records by which `whole` raises the limit of each class. */
  readonly more: number
  readonly part: (limit: number) => number
}

function limitsFor({ whole, more, part }: Parts): RefusalLimits {
  const { unjudgedRows, judgedRows, actionReserve, newActionReserve, newActionsOfConnector } = REFUSAL_LIMITS
  const unjudged = Math.max(1, part(unjudgedRows + more))
  return {
    whole: part(whole),
    unjudgedRows: unjudged,
    judgedRows: Math.max(1, part(unjudgedRows + judgedRows + 2 * more) - unjudged),
    actionReserve: part(actionReserve),
    newActionReserve: part(newActionReserve),
    newActionsOfConnector: Math.max(1, part(newActionsOfConnector)),
  }
}
