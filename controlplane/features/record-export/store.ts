import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'

/**
 * Result of `takeLease`: milliseconds of back-off that remain; null when another replica has the lease of the
 * destination.
 */
export type Lease = { readonly waitMs: number } | null

/**
 * Takes or extends the lease of a destination, and creates the destination at the first call. Only the replica with the
 * lease sends. The lease expires by the clock of the database, so that another replica continues after a crash.
 */
export async function takeLease(
  q: Query,
  { name, by, leaseS }: { readonly name: string; readonly by: string; readonly leaseS: number },
): Promise<Lease> {
  const { rows } = await q.query<{ waitMs: number }>(
    `insert into record_destinations as d (name, leased_by, leased_until)
     values ($1, $2, clock_timestamp() + make_interval(secs => $3))
     on conflict (name) do update
       set leased_by = excluded.leased_by, leased_until = excluded.leased_until, seen_at = clock_timestamp()
       where d.leased_by is null or d.leased_by = $2 or d.leased_until < clock_timestamp()
     returning greatest(0, coalesce(extract(epoch from retry_at - clock_timestamp()), 0) * 1000)::float8 as "waitMs"`,
    [name, by, leaseS],
  )
  return rows[0] ?? null
}

export async function releaseLease(q: Query, name: string, by: string): Promise<void> {
  await q.query('update record_destinations set leased_by = null where name = $1 and leased_by = $2', [
    name,
    by,
  ])
}

/**
 * Records that leave the outbox. `rejected`: how many of these records the destination refused. `dropped`: how many
 * of them retention deleted.
 */
export type Settled = {
  readonly name: string
  readonly positions: readonly number[]
  readonly rejected?: number
  readonly dropped?: number
}

/**
 * Removes records from the outbox and adds them to the totals. Counts only rows that this statement deletes, so that
 * records which two replicas remove are counted once.
 */
export async function settle(
  q: Query,
  { name, positions, rejected = 0, dropped = 0 }: Settled,
): Promise<void> {
  await q.query(
    `with gone as (delete from record_outbox where destination = $1 and position = any($2::bigint[]) returning 1),
     counted as (select count(*) as n from gone)
     update record_destinations set rejected = rejected + least($3::bigint, n), dropped = dropped + least($4::bigint, n),
       sent = sent + greatest(0, n - $3::bigint - $4::bigint)
     from counted where name = $1`,
    [name, positions, rejected, dropped],
  )
}

/** Ends the back-off of a destination after a success. */
export async function noteSuccess(q: Query, name: string): Promise<void> {
  await q.query(
    `update record_destinations set attempts = 0, retry_at = null, last_error = null, last_sent_at = clock_timestamp()
     where name = $1`,
    [name],
  )
}

/** Counts a failed request and returns the number of failed requests since the last success. */
export async function noteFailure(q: Query, name: string, error: string): Promise<number> {
  const { rows } = await q.query<{ attempts: number }>(
    `update record_destinations set attempts = attempts + 1, errors = errors + 1, last_error = $2 where name = $1
     returning attempts`,
    [name, error],
  )
  return onlyRow(rows).attempts
}

/** Starts the back-off of a destination: no replica sends within `waitMs` milliseconds, even after a restart. */
export async function backOff(q: Query, name: string, waitMs: number): Promise<void> {
  await q.query(
    'update record_destinations set retry_at = clock_timestamp() + make_interval(secs => $2) where name = $1',
    [name, waitMs / 1_000],
  )
}
