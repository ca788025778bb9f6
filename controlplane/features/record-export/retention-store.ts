import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'

/** Days beyond their retention for which records wait for their export. The documentation states this bound. */
const HOLD_DAYS = 7

/**
 * Returns the first day (UTC, `YYYY-MM-DD`) of the traffic log that retention of `hours` keeps. Days with records that have
 * not left yet are kept too, for at most `HOLD_DAYS` days more.
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
 * Removes the records of days before `firstKept` from the outbox, whose rows retention has deleted, and counts them as dropped.
 * Returns their number.
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
 * Deletes the destinations that no replica has had for an hour, and their outboxes. Returns the number of records that were not
 * sent.
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
