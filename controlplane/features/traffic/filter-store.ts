import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import type { TrafficCursor, TrafficFilter } from './store.ts'

/**
 * Conditions of a list of records. An index selects the records of `indexed`, in the order of the list. The conditions of
 * `searched` have no index, so the number of records that they are evaluated for must be limited.
 */
export type TrafficConditions = {
  readonly indexed: readonly string[]
  readonly searched: readonly string[]
  /** Values of the parameters, from `$1`. */
  readonly values: readonly unknown[]
  /** True when the records of one agent are selected, which has one namespace. */
  readonly isOfAgent: boolean
}

/** Text that a search compares. */
const SEARCHED = "lower(concat_ws(' ', action_type, host, path, agent, reason))"

/** Literals, because PostgreSQL proves the condition of the index `traffic_decision` only from constants. */
const DECISIONS: Readonly<Record<string, string>> = {
  ALLOW: "decision = 'ALLOW'",
  HOLD: "decision = 'HOLD'",
  DENY: "decision = 'DENY'",
}

/** Returns the conditions; null when no record can match, because the agent is of another namespace. */
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
 * Returns the filter that an index applies; undefined for none. One index only: the intersection of two can be empty
 * although each selects millions of records.
 */
function leadingFilter(filter: TrafficFilter, namespaces: Namespaces): keyof TrafficFilter | undefined {
  if (filter.decision === 'HOLD') return 'decision'
  if (filter.agent !== undefined) return 'agent'
  // The index of the namespaces applies for users with rights in some namespaces.
  if (namespaces !== 'all') return undefined
  if (filter.decision === 'DENY') return 'decision'
  return filter.connector === undefined ? undefined : 'connector'
}
