import type { Db, Query } from './query.ts'
import { onlyRow } from './rows.ts'
import { SESSION_LIFE } from './sessions.ts'

/** Any fixed number: all replicas of this program use the same. */
const LOCK = 7_245_118_020

/** A large part may take its time; the pool's own limit is made for requests. */
const PART_LIMIT = "set local statement_timeout = '10min'"

/** Runs `work` while no other process runs its; undefined when another one does. */
export async function withMaintenanceLock<T>(
  db: Db,
  work: () => Promise<T>,
): Promise<{ readonly value: T } | undefined> {
  return db.tx(async (q) => {
    await q.query('set local idle_in_transaction_session_timeout = 0')
    const { rows } = await q.query<{ taken: boolean }>('select pg_try_advisory_xact_lock($1) as taken', [
      LOCK,
    ])
    return onlyRow(rows).taken ? { value: await work() } : undefined
  })
}

/** Nonces of tokens that nobody used in time. */
export async function deleteExpiredNonces(q: Query): Promise<number> {
  return deleted(q, 'delete from nonces where used_at is null and expires_at < now()')
}

/** Used nonces after 24 hours: no token lives as long, so none can come back. */
export async function deleteUsedNonces(q: Query): Promise<number> {
  return deleted(q, "delete from nonces where used_at < now() - interval '24 hours'")
}

export async function deleteExpiredSessions(q: Query): Promise<number> {
  return deleted(
    q,
    `delete from sessions where expires_at < now() or seen_at < now() - make_interval(hours => ${SESSION_LIFE.idleHours})`,
  )
}

export async function deleteOldIdempotencyKeys(q: Query): Promise<number> {
  return deleted(q, "delete from idempotency_keys where created_at < now() - interval '24 hours'")
}

/** Invitations a month after their end, and memories of failed sign-ins after a day. */
export async function deleteSpentInvitations(q: Query): Promise<number> {
  await q.query("delete from login_failures where last_at < now() - interval '1 day'")
  return deleted(
    q,
    "delete from invitations where coalesce(used_at, expires_at) < now() - interval '30 days'",
  )
}

/** Removes audit events older than so many days; gives their number and the moment before which they were. */
export async function purgeAudit(
  q: Query,
  orgId: string,
  days: number,
): Promise<{ readonly purged: number; readonly before: Date }> {
  await q.query(PART_LIMIT)
  const { rows: limits } = await q.query<{ before: Date; any: boolean }>(
    `select before, exists (select from audit_events where org_id = $1 and created_at < before) as any
     from (select now() - make_interval(days => $2) as before) as retention`,
    [orgId, days],
  )
  const { before, any } = onlyRow(limits)
  // The purge takes rights on the table for a moment: not when there is nothing to do.
  if (!any) return { purged: 0, before }
  const { rows } = await q.query<{ purged: number }>(
    'select purge_audit_events($1, now() - make_interval(days => $2)) as purged',
    [orgId, days],
  )
  return { purged: onlyRow(rows).purged, before }
}

/** Drops the traffic of days that are more than `days` ago (UTC); gives the number of records. */
export async function dropOldTraffic(q: Query, days: number): Promise<number> {
  await q.query(PART_LIMIT)
  // Dropping waits for who reads the table, and everybody else for us: rather try again tomorrow.
  await q.query("set local lock_timeout = '10s'")
  const firstKept = "((now() at time zone 'utc')::date - $1::integer)"
  const { rows } = await q.query<{ purged: number }>(
    `with old as (select count(*) as purged from traffic where time < ${firstKept}::timestamp at time zone 'utc'),
     noted as (update maintenance set traffic_purged = traffic_purged + (select purged from old))
     select purged from old`,
    [days],
  )
  await q.query(`select drop_traffic_before(${firstKept})`, [days])
  return onlyRow(rows).purged
}

export async function noteCleanup(q: Query): Promise<void> {
  await q.query('update maintenance set last_cleanup_at = now()')
}

/** Whether the last cleanup began more than a day ago, by the database's clock. */
export async function isCleanupDue(q: Query): Promise<boolean> {
  const { rows } = await q.query<{ due: boolean }>(
    "select coalesce(last_cleanup_at < now() - interval '24 hours', true) as due from maintenance",
    [],
  )
  return onlyRow(rows).due
}

async function deleted(q: Query, text: string): Promise<number> {
  return (await q.query(text)).rowCount
}
