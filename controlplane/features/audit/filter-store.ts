import { AuditEventType } from '../../../core/wire/audit.ts'
import type { AuditFilter } from './export/store.ts'

/**
 * SQL conditions of a search. PostgreSQL evaluates `indexed` by an index. No index covers `searched`, so the caller
 * must limit the number of events for which `searched` is evaluated.
 */
export type AuditConditions = {
  readonly indexed: readonly string[]
  readonly searched: readonly string[]
  /** Values of the parameters, from `$1`. */
  readonly values: readonly unknown[]
}

/** Event types that the index `audit_type` omits, because every governed request can cause an event of such a type. */
const FREQUENT: ReadonlySet<string> = new Set([
  'action.requested',
  'action.allowed',
  'action.denied',
  'action.pending_approval',
  'action.executed',
  'action.execution_failed',
])
const INDEXED = new Set<string>(AuditEventType.options.filter((type) => !FREQUENT.has(type)))

/** SQL expression for the text of an event in which the search looks for the search text. */
export const SEARCHED =
  "lower(concat_ws(' ', e.event_type, e.agent_id, e.user_id, e.action_request_id, e.details::text))"

/**
 * Returns the SQL conditions of a search in events with ids below `before`. When `before` is null, the conditions
 * apply to all events.
 */
export function auditConditions(orgId: string, filter: AuditFilter, before: number | null): AuditConditions {
  const values: unknown[] = [orgId]
  const lists = { indexed: ['e.org_id = $1'], searched: [] as string[] }
  const add = (list: keyof typeof lists, value: unknown, condition: (place: string) => string) => {
    if (value === undefined || value === null) return
    values.push(value)
    lists[list].push(condition(`$${values.length}`))
  }
  const { eventType, actionRequestId } = filter
  add('indexed', before, (p) => `e.id < ${p}`)
  add('indexed', filter.agentId, (p) => `e.agent_id = ${p}`)
  add('indexed', actionRequestId, (p) => `e.action_request_id = ${p}`)
  // The type is a literal and not a parameter, because the planner uses the partial index `audit_type` only if a
  // constant implies the condition of the index.
  if (eventType !== undefined && INDEXED.has(eventType)) lists.indexed.push(`e.event_type = '${eventType}'`)
  else add('searched', eventType, (p) => `e.event_type = ${p}`)
  add('indexed', filter.from, (p) => `e.id > ${LAST_BEFORE(p)}`)
  add('indexed', filter.to, (p) => `e.id < ${FIRST_AFTER(p)}`)
  add('searched', filter.from, (p) => `e.created_at >= ${p}::timestamptz`)
  add('searched', filter.to, (p) => `e.created_at < ${p}::timestamptz`)
  add('searched', filter.q, (p) => `position(lower(${p}) in ${SEARCHED}) > 0`)
  return { ...lists, values }
}

/**
 * SQL expressions for the first and the last id of a period of time. Ids follow the times of events only approximately:
 * an event has the time at which its transaction began and gets its id later, and the clock may be corrected. A margin
 * of an hour covers both differences.
 */
const LAST_BEFORE = (time: string) => `coalesce((select id from audit_events
  where org_id = $1 and created_at < ${time}::timestamptz - interval '1 hour' order by created_at desc limit 1), 0)`
const FIRST_AFTER = (time: string) => `coalesce((select id from audit_events
  where org_id = $1 and created_at >= ${time}::timestamptz + interval '1 hour' order by created_at limit 1), 9223372036854775807)`
