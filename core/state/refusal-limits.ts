/** Limits for records of refusals. Beyond them, one row counts the refusals of an agent in a window. */
export const REFUSAL_LIMITS = {
  windowMs: 60_000,
  /**
   * First refusals of an agent in each class that get a record of their own, even if they repeat. The two classes are
   * evaluated and unevaluated requests.
   */
  whole: 60,
  /** Maximum records of an agent in one window for requests that no rule evaluated, including the counting row. */
  unjudgedRows: 100,
  /**
   * Maximum records of an agent in one window for evaluated requests, including the counting row. Both classes together
   * have 600.
   */
  judgedRows: 500,
  /** Part of `judgedRows` reserved for denied actions: the agent chooses hosts, but not action types. */
  actionReserve: 100,
  /** Part of `judgedRows` reserved for action types without a record in this window. */
  newActionReserve: 100,
  /** Maximum part of `newActionReserve` that one connector type takes, because agents invent names of MCP tools. */
  newActionsOfConnector: 25,
  /** Action types of one connector type that a row counts separately (`countedOfConnector`), and of all types. */
  countedOfConnector: 32,
  countedActions: 128,
  /** Maximum number of targets that a row lists. */
  shownTargets: 32,
  /** Maximum length of a listed target in UTF-16 units. */
  targetLength: 200,
  /** Maximum number of distinct targets that a row can count. */
  distinctTargets: 10_000,
  /** Maximum number of target hashes that all rows together keep. */
  rememberedTargets: 500_000,
} as const

/** Limits of one gateway process, if several processes serve the agent. */
export type RefusalLimits = Readonly<
  Record<
    'whole' | 'unjudgedRows' | 'judgedRows' | 'actionReserve' | 'newActionReserve' | 'newActionsOfConnector',
    number
  >
>

/**
 * Returns a function from the number of processes to the limits of each. `whole` overrides the default. Each class
 * keeps a counting row, so up to 300 processes share 600 rows.
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
  /** Number of rows that a higher `whole` adds to each class. */
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
