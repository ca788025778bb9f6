import type { ScopedQuery, Within } from '../../db/scoped-query.ts'

/** A period with its end excluded. The times are in ISO 8601. */
export type Period = { readonly from: string; readonly to: string }

/** Lengths of the rows of a roll-up in seconds, longest first. The function `rollUp` writes these rows. */
const STEPS_S = [3_600, 900, 60]

/**
 * Returns the values of the parameters `$1` to `$4` of the SQL of `sums`. Roll-ups serve a period whose ends are multiples
 * of the step of a roll-up. `bucketSeconds` is the length of the buckets into which the caller divides the sums from `from`
 * on; it must be a multiple of the step too.
 */
export function sourceValues(
  orgId: string,
  { from, to }: Period,
  bucketSeconds = 0,
): readonly [string, string, string, number | null] {
  const seconds = [Date.parse(from) / 1_000, Date.parse(to) / 1_000, bucketSeconds]
  const step = STEPS_S.find((length) => seconds.every((second) => second % length === 0)) ?? null
  return [orgId, from, to, step]
}

/** A table of roll-ups, and the SQL of the columns to select from it, from the increments and from the records. */
export type Summed = {
  readonly table: string
  /** True for a table that also has the sums of all namespaces, with the namespace null. */
  readonly hasAll?: boolean
  readonly rolledUp: string
  readonly incremented: string
  readonly recorded: string
  /** SQL condition for increments and records. */
  readonly isCounted?: { readonly incremented: string; readonly recorded: string }
}

/** SQL for the time from which roll-ups are read. Records are read before, and for a period that no roll-up serves. */
const ROLLED_UP_FROM = `case when $4::integer is null then $3::timestamptz
  else least($3::timestamptz, greatest($2::timestamptz, (select begins_at from traffic_rollup_begin))) end`

/**
 * Returns a subquery for the sums of a period: rows of a roll-up, increments that are not rolled up yet, and records. Each
 * record of the period is in exactly one of them. The statement has the parameters of `sourceValues`.
 */
export function sums(q: ScopedQuery, within: Within, summed: Summed): string {
  const { table, hasAll = false, isCounted = { incremented: 'true', recorded: 'true' } } = summed
  const namespace = within.namespace('namespace')
  const own = hasAll && q.namespaces === 'all' ? 'namespace is null' : namespace
  return `(select ${summed.rolledUp} from ${table}
       where step = $4::integer and time >= ${ROLLED_UP_FROM} and time < $3::timestamptz and ${own}
     union all
     select ${summed.incremented} from traffic_increments
       where minute >= ${ROLLED_UP_FROM} and minute < $3::timestamptz and ${namespace} and ${isCounted.incremented}
     union all
     select ${summed.recorded} from traffic
       where org_id = $1 and time >= $2::timestamptz and time < ${ROLLED_UP_FROM}
         and ${within.nameOr('agent', 'gateway')} and ${isCounted.recorded})`
}
