import type { TrafficRecord } from '../../../core/record.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import { type TrafficConditions, trafficConditions } from './filter-store.ts'
import type { TrafficCursor, TrafficFilter } from './store.ts'

export const COLUMNS = `id, process_id, seq, time, gateway, agent, instance, connector, action_type, decision, would,
  note, reason, approval_id, act_id, method, host, path, status, error_type, latency_ms, overhead_ms, bytes_in, bytes_out, permission,
  policies, snapshot_version, transport, why, candidates, actions, action_count, refusals, handle, effects,
  credential, action_details, function_tools`

/**
 * Lists at most 50 records of one action, oldest first. Includes records of requests that were held by an approval of
 * this action.
 */
export async function listTrafficOfAction(
  q: ScopedQuery,
  orgId: string,
  actId: string,
): Promise<readonly TrafficRecord[]> {
  const rows = await q.rows<TrafficRecord & { time: Date }>([orgId, actId], (within) => {
    const own = `select ${COLUMNS} from traffic where org_id = $1 and ${within.nameOr('agent', 'gateway')}`
    // The query has one branch per column, because PostgreSQL uses no index for an `or` over two columns with a
    // subquery.
    return `select * from (${own} and act_id = $2
       union all
       ${own} and approval_id is not null and act_id is distinct from $2
         and approval_id = any(array(select id from approvals where org_id = $1 and act_id = $2))) as found
     order by time, id limit 50`
  })
  return rows.map((row) => ({ ...row, time: row.time.toISOString() }))
}

export const FIELDS = `id text, process_id text, seq bigint, time timestamptz, gateway text, agent text, instance jsonb, connector text,
  action_type text, decision text, would text, note text, reason text, approval_id text, act_id text, method text,
  host text, path text, status integer, error_type text, latency_ms double precision, overhead_ms double precision,
  bytes_in bigint, bytes_out bigint, permission text, policies text[], snapshot_version bigint, transport text, why jsonb,
  candidates text[], actions text[], action_count integer, refusals jsonb, handle text, effects text[],
  credential jsonb, action_details jsonb, function_tools integer`

export const NAMES = FIELDS.split(',').map((field) => field.trim().split(' ')[0])

export type TrafficList = {
  readonly records: readonly TrafficRecord[]
  /**
   * Position after which the next page begins; null at the end of the log. A search that stops at its maximum
   * number of read records also returns a position, even if the page has fewer records than `limit`.
   */
  readonly next: TrafficCursor | null
}

/**
 * Maximum number of records that a page of a search reads. The maximum bounds the time of a page (about 50 ms on two
 * cores) when few records, or none, contain the text.
 */
const MAX_SEARCHED = 20_000
/**
 * Maximum number of records that a search in the records of one agent reads. This maximum is lower, because
 * the records of one agent are spread over more pages of the table.
 */
const MAX_SEARCHED_OF_AGENT = 10_000
const MIN_SEARCHED = 500

/** Lists at most `limit` records after `cursor`, newest first. */
export async function listTraffic(
  q: ScopedQuery,
  orgId: string,
  page: {
    readonly filter: TrafficFilter
    readonly limit: number
    readonly cursor?: TrafficCursor | undefined
    /** Maximum number of records that a search reads; default: 20,000. */
    readonly maxSearched?: number
  },
): Promise<TrafficList> {
  const { namespaces } = q
  const conditions = trafficConditions(orgId, page, namespaces)
  if (conditions === null) return { records: [], next: null }
  const max = conditions.isOfAgent ? MAX_SEARCHED_OF_AGENT : MAX_SEARCHED
  const searched = searchedIn(namespaces, page.maxSearched ?? max)
  // Reads one row more than requested. The extra row shows that a next page exists.
  const given = conditions.searched.length === 0 ? [page.limit + 1] : [page.limit + 1, searched]
  const rows = await q.rows<ListedRow>([...conditions.values, ...given], (within) => {
    const list = (condition: string) => selectOf(conditions, condition)
    const listed = conditions.isOfAgent
      ? list(within.nameOr('agent', 'gateway'))
      : within.each('agent', 'gateway', list)
    const found = conditions.searched.length === 0 ? 'true' : '("isFound" or "isEnd")'
    return `select * from (${listed}) as listed where ${found} ${NEWEST} limit $${conditions.values.length + 1}`
  })
  return pageOf(rows, page.limit)
}

const NEWEST = 'order by time desc, id desc'

/**
 * Returns the maximum number of records that the search reads per namespace, because each namespace is searched
 * separately.
 */
function searchedIn(namespaces: ScopedQuery['namespaces'], max: number): number {
  if (namespaces === 'all') return max
  return Math.max(Math.min(MIN_SEARCHED, max), Math.floor(max / Math.max(1, namespaces.size)))
}

function selectOf({ indexed, searched, values }: TrafficConditions, condition: string): string {
  const where = `from traffic where ${[...indexed, condition].join(' and ')}`
  const columns = NAMES.join(', ')
  if (searched.length === 0) return `select ${columns} ${where} ${NEWEST} limit $${values.length + 1}`
  const max = `$${values.length + 2}::bigint`
  // The limit is in the inner query, because PostgreSQL plans the input of a window function for all rows. The value
  // of `limit` comes from a subquery, so that the planner does not know the value. With a known limit, the planner
  // reads and sorts all rows when it expects fewer rows than the limit.
  return `select ${columns}, (${searched.join(' and ')}) is true as "isFound", row_number() over (${NEWEST}) = ${max} as "isEnd"
    from (select ${columns} ${where} ${NEWEST} limit (select ${max})) as read ${NEWEST}`
}

/**
 * `isEnd`: true for the last record that the search read in its namespace. Older records of this namespace were not
 * read.
 */
type ListedRow = TrafficRecord & { time: Date; readonly isFound?: boolean; readonly isEnd?: boolean }

function pageOf(rows: readonly ListedRow[], limit: number): TrafficList {
  const records: TrafficRecord[] = []
  for (const { isFound = true, isEnd = false, ...row } of rows) {
    if (records.length === limit) return { records, next: cursorOf(records.at(-1)) }
    const record = { ...row, time: row.time.toISOString() }
    if (isFound) records.push(record)
    // The page ends at the first record with `isEnd`, because older records of its namespace are missing in the result.
    if (isEnd) return { records, next: cursorOf(record) }
  }
  return { records, next: null }
}

function cursorOf(record: TrafficRecord | undefined): TrafficCursor | null {
  return record === undefined ? null : { time: record.time, id: record.id }
}
