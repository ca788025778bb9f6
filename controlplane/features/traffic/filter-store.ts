import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import type { TrafficCursor, TrafficFilter } from './store.ts'

/**
 * SQL conditions of a list of records. PostgreSQL evaluates `indexed` by an index with the order of the list. No
 * index covers `searched`, so the caller must limit the number of records for which `searched` is evaluated.
 */
export type TrafficConditions = {
  readonly indexed: readonly string[]
  readonly searched: readonly string[]
  /** Values of the parameters, from `$1`. */
  readonly values: readonly unknown[]
  /**
   * True when `indexed` selects one agent. All records of an agent are in one namespace, so the namespaces need no
   * separate queries.
   */
  readonly isOfAgent: boolean
}

/** SQL expression for the text of a record in which the search looks for the search text. */
const SEARCHED = "lower(concat_ws(' ', action_type, host, path, agent, reason))"

/**
 * The conditions contain literals instead of parameters, because the planner uses the partial index
 * `traffic_decision` only if a constant implies the condition of the index.
 */
const DECISIONS: Readonly<Record<string, string>> = {
  ALLOW: "decision = 'ALLOW'",
  HOLD: "decision = 'HOLD'",
  DENY: "decision = 'DENY'",
}

/**
 * Returns the SQL conditions; null when no record can match, because the agent in the filter is of a
 * namespace outside `namespaces`.
 */
export function trafficConditions(
  orgId: string,
  { filter, cursor }: { readonly filter: TrafficFilter; readonly cursor?: TrafficCursor | undefined },
  namespaces: Namespaces,
): TrafficConditions | null {
  const { agent } = filter
  if (agent !== undefined && namespaces !== 'all' && !namespaces.has(namespaceOf(agent))) return null
  const values: unknown[] = [orgId]
  const lists = { indexed: ['org_id = $1'], searched: [] as string[] }
  const add = (list: keyof typeof lists, value: unknown, condition: (place: string) => string) => {
    if (value === undefined) return
    values.push(value)
    lists[list].push(condition(`$${values.length}`))
  }
  const leading = leadingFilter(filter, namespaces)
  const listOf = (name: keyof TrafficFilter) => (name === leading ? 'indexed' : 'searched')
  add('indexed', filter.from, (p) => `time >= ${p}::timestamptz`)
  add('indexed', filter.to, (p) => `time < ${p}::timestamptz`)
  add(listOf('agent'), agent, (p) => `agent = ${p}`)
  add(listOf('connector'), filter.connector, (p) => `connector = ${p}`)
  add(
    'searched',
    filter.instance,
    (p) => `${p} in (instance->>'claim', instance->>'sandbox', instance->>'pod')`,
  )
  add('searched', filter.actionType, (p) => `action_type = ${p}`)
  add('searched', filter.q, (p) => `position(lower(${p}) in ${SEARCHED}) > 0`)
  const decision = DECISIONS[filter.decision ?? '']
  if (decision !== undefined) lists[listOf('decision')].push(decision)
  if (cursor !== undefined) {
    values.push(cursor.time, cursor.id)
    lists.indexed.push(`(time, id) < ($${values.length - 1}::timestamptz, $${values.length})`)
  }
  return { ...lists, values, isOfAgent: agent !== undefined && leading === 'agent' }
}

/**
 * Returns the filter that PostgreSQL applies by an index; undefined if PostgreSQL applies no filter by an index. Only
 * one filter uses an index, because the intersection of two filters can be empty although each filter selects
 * millions of records.
 */
function leadingFilter(filter: TrafficFilter, namespaces: Namespaces): keyof TrafficFilter | undefined {
  if (filter.decision === 'HOLD') return 'decision'
  if (filter.agent !== undefined) return 'agent'
  // For a user whose right is limited to some namespaces, the index by namespace is used instead of the
  // indexes for denied requests and connectors.
  if (namespaces !== 'all') return undefined
  if (filter.decision === 'DENY') return 'decision'
  return filter.connector === undefined ? undefined : 'connector'
}
