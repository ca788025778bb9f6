import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'

/**
 * Maximum number of days for which records that are not exported yet are kept after the end of their retention. The
 * documentation states this limit.
 */
const HOLD_DAYS = 7

/**
 * Returns the first day (UTC, `YYYY-MM-DD`) of the traffic log to keep, for a retention of `hours`. If records of
 * earlier days are not exported yet, this day is earlier, by at most `HOLD_DAYS` days.
 */
export async function firstKeptDay(q: Query, hours: number): Promise<string> {
  const { rows } = await q.query<{ day: string }>(
    `select to_char(least(due, greatest(due - $2::integer, coalesce(oldest, due))), 'YYYY-MM-DD') as day
     from (select ((now() at time zone 'utc') - make_interval(hours => $1))::date as due,
       (select (min(record_time) at time zone 'utc')::date from record_outbox) as oldest) as days`,
    [hours, HOLD_DAYS],
  )
  return onlyRow(rows).day
}

/**
 * Removes records of days before `firstKept` from the outbox, because retention has deleted these records. Counts them
 * as dropped and returns their number.
 */
export async function dropUndelivered(q: Query, firstKept: string): Promise<number> {
  const { rows } = await q.query<{ dropped: number }>(
    `with gone as (delete from record_outbox where record_time < $1::timestamp at time zone 'utc' returning destination),
     counted as (select destination, count(*) as n from gone group by destination),
     noted as (update record_destinations set dropped = dropped + n from counted where name = destination)
     select count(*) as dropped from gone`,
    [firstKept],
  )
  return onlyRow(rows).dropped
}

/**
 * Deletes the destinations that no replica has used for an hour, and their outboxes. Returns the number of records that
 * were not sent.
 */
export async function deleteEndedDestinations(q: Query): Promise<number> {
  await q.query("set local statement_timeout = '10min'")
  await q.query("delete from record_destinations where seen_at < clock_timestamp() - interval '1 hour'", [])
  const { rowCount } = await q.query(
    'delete from record_outbox o where not exists (select from record_destinations where name = o.destination)',
    [],
  )
  return rowCount
}
