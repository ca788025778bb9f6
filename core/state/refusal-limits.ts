/** Limits of the aggregation of refusals. */
export const REFUSAL_LIMITS = {
  windowMs: 60_000,
  /** Refusals of each class of an agent with a record of their own, regardless of kind. */
  whole: 60,
  /** Records of an agent in one window for requests without an evaluated rule, including the counting row. */
  unjudgedRows: 100,
  /** Records for evaluated requests, including the counting row. Both classes together are 600. */
  judgedRows: 500,
  /** Part of `judgedRows` reserved for denied actions: the agent chooses hosts, but not action types. */
  actionReserve: 100,
  /** Part of `judgedRows` reserved for action types without a record in this window. */
  newActionReserve: 100,
  /** Part of `newActionReserve` for one connector type: the agent invents names of MCP tools. */
  newActionsOfConnector: 25,
  /** Action types of one connector type that a row counts separately, and of all types. */
  countedOfConnector: 32,
  countedActions: 128,
  /** Targets that a row lists. */
  shownTargets: 32,
  /** UTF-16 units of a listed target. */
  targetLength: 200,
  /** Distinct targets that a row can count. */
  distinctTargets: 10_000,
  /** Target hashes that all rows together keep. */
  rememberedTargets: 500_000,
} as const

/** The share of one process. */
export type RefusalLimits = Readonly<
  Record<
    'whole' | 'unjudgedRows' | 'judgedRows' | 'actionReserve' | 'newActionReserve' | 'newActionsOfConnector',
    number
  >
>

/** `whole`: overrides the default. Each class keeps a counting row, so up to 300 processes share 600 rows. */
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
  /** Rows beyond the default, for each class. */
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
