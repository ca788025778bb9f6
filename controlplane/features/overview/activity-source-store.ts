import type { ScopedQuery, Within } from '../../db/scoped-query.ts'

/** A period with its end excluded. The times are in ISO 8601. */
export type Period = { readonly from: string; readonly to: string }

/**
 * Steps in seconds, longest first: lengths of the periods for which the roll-ups (stored sums of the traffic log) have
 * rows. The function `rollUp` writes rows for each step.
 */
const STEPS_S = [3_600, 900, 60]
/** Shortest step, in seconds, of the roll-ups by agent and by reason of denial. */
const SHORTEST_S = 900

/**
 * Returns the parameters `$1` to `$6` of the SQL that `sums` returns, for buckets of `bucketSeconds` that begin at
 * `from`. The SQL reads roll-ups if both ends of the period and `bucketSeconds` are multiples of a step of the
 * roll-ups, otherwise records.
 */
export function valuesOfBuckets(orgId: string, period: Period, bucketSeconds: number): readonly unknown[] {
  return values(orgId, period, stepOf(period, bucketSeconds))
}

/**
 * Returns the parameters `$1` to `$6` for sums over the whole period. For the parts of the period before the
 * first and after the last whole step of the roll-ups, the SQL reads records.
 */
export function valuesOfPeriod(orgId: string, period: Period): readonly unknown[] {
  return values(orgId, period, Math.max(stepOf(period, 0) ?? 0, SHORTEST_S))
}

function stepOf({ from, to }: Period, bucketSeconds: number): number | null {
  const lengths = [Date.parse(from), Date.parse(to), bucketSeconds * 1_000]
  return STEPS_S.find((step) => lengths.every((length) => length % (step * 1_000) === 0)) ?? null
}

function values(orgId: string, { from, to }: Period, step: number | null): readonly unknown[] {
  const stepMs = (step ?? 1) * 1_000
  const begin = Math.ceil(Date.parse(from) / stepMs) * stepMs
  const end = Math.floor(Date.parse(to) / stepMs) * stepMs
  const isRolledUp = step !== null && begin < end
  const steps = isRolledUp ? [new Date(begin).toISOString(), new Date(end).toISOString()] : [to, to]
  return [orgId, from, to, step, ...steps]
}

/**
 * A table of roll-ups, which are stored sums of the traffic log. The other members are SQL expressions: `rolledUp`
 * selects the columns from the table, `incremented` from the increments, and `recorded` from the records.
 */
export type Summed = {
  readonly table: string
  /** True if the table also has sums over all namespaces, in rows whose namespace is null. */
  readonly hasAll?: boolean
  readonly rolledUp: string
  readonly incremented: string
  readonly recorded: string
  /**
   * SQL conditions that select the increments and the records to count. When absent, all increments and
   * records are counted.
   */
  readonly isCounted?: { readonly incremented: string; readonly recorded: string }
}

/**
 * SQL for the end and the start of that part of the period whose sums come from roll-ups. The part consists of whole
 * steps and does not begin before the roll-ups. The part is empty if the period contains no whole step.
 */
const ROLLED_TO = '$6::timestamptz'
const ROLLED_FROM = `least(${ROLLED_TO}, greatest($5::timestamptz, (select begins_at from traffic_rollup_begin)))`

/**
 * Returns a subquery for the sums of a period: rows of roll-ups, increments that are not added to the
 * roll-ups yet, and records. Each record of the period is counted in exactly one of these three sources.
 */
export function sums(q: ScopedQuery, within: Within, summed: Summed): string {
  const { table, hasAll = false, isCounted = { incremented: 'true', recorded: 'true' } } = summed
  const namespace = within.namespace('namespace')
  const own = hasAll && q.namespaces === 'all' ? 'namespace is null' : namespace
  const records = `select ${summed.recorded} from traffic
       where org_id = $1 and ${within.nameOr('agent', 'gateway')} and ${isCounted.recorded}`
  return `(select ${summed.rolledUp} from ${table}
       where step = $4::integer and time >= ${ROLLED_FROM} and time < ${ROLLED_TO} and ${own}
     union all
     select ${summed.incremented} from traffic_increments
       where minute >= ${ROLLED_FROM} and minute < ${ROLLED_TO} and ${namespace} and ${isCounted.incremented}
     union all
     ${records} and time >= $2::timestamptz and time < ${ROLLED_FROM}
     union all
     ${records} and time >= ${ROLLED_TO} and time < $3::timestamptz)`
}
