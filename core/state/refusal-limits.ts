/** Limits of the aggregation of refusals. */
export const REFUSAL_LIMITS = {
  windowMs: 60_000,
  /** So many refusals of each class of an agent get a record of their own, whatever they are. */
  whole: 60,
  /** Records of an agent in one window for requests that no rule judged, the row that counts the rest included. */
  unjudgedRows: 100,
  /** Records for judged requests, the row that counts the rest included. Both classes together are 600. */
  judgedRows: 500,
  /** Of `judgedRows`, those that only a denied action takes: a host is chosen by the agent, an action is not. */
  actionReserve: 100,
  /** Of `judgedRows`, those that only an action type takes which has no record in this window. */
  newActionReserve: 100,
  /** Of `newActionReserve`, those of one connector type: the agent invents names of MCP tools. */
  newActionsOfConnector: 25,
  /** Action types of one connector type that a row counts one by one, and of all. */
  countedOfConnector: 32,
  countedActions: 128,
  /** Targets that a row names. */
  shownTargets: 32,
  /** UTF-16 units of a named target. */
  targetLength: 200,
  /** Distinct targets that a row can tell apart. */
  distinctTargets: 10_000,
  /** Hashes of targets that all rows together keep. */
  rememberedTargets: 500_000,
} as const

/** The part of one process. */
export type RefusalLimits = Readonly<
  Record<
    'whole' | 'unjudgedRows' | 'judgedRows' | 'actionReserve' | 'newActionReserve' | 'newActionsOfConnector',
    number
  >
>

/** `whole`: instead of the usual one. Each class keeps a row that counts, so up to 300 processes share 600 rows. */
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
  /** Rows beyond the usual, for each class. */
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
