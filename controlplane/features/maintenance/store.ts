import { bumpVersion } from '../../db/config-version.ts'
import type { Db, Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'
import { HAS_ENDED } from '../agents/rows.ts'
import { SESSION_LIFE } from '../sessions/rows.ts'

/**
 * Key of the advisory lock that serialises cleanups. The number is arbitrary, but all replicas must use the same
 * number.
 */
const LOCK = 7_245_118_020

/**
 * Raises the statement timeout for the deletions of a cleanup. The default timeout of the pool is chosen for API
 * requests and is too short for a large deletion.
 */
const PART_LIMIT = "set local statement_timeout = '10min'"

/** Runs `work` under the maintenance lock. Returns undefined when another process holds the lock. */
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

/**
 * Deletes at most `limit` rows and returns the number of deleted rows. A result equal to `limit` means that more rows
 * may remain.
 */
export type DeleteBatch = (q: Query, limit: number) => Promise<number>

/** Deletes the nonces of decision tokens that expired unused. */
export const deleteExpiredNonces: DeleteBatch = (q, limit) =>
  deleteSome(q, { from: 'nonces', where: 'used_at is null and expires_at < now()', limit })

/**
 * Deletes used nonces after 24 hours. A decision token is valid for minutes only, so no valid token can refer to a
 * deleted nonce. Nonces of executions in flight stay.
 */
export const deleteUsedNonces: DeleteBatch = (q, limit) => {
  const isOpen = 'exists (select from executions e where e.act_id = old.act_id)'
  const where = `used_at < now() - interval '24 hours' and not ${isOpen}`
  return deleteSome(q, { from: 'nonces', where, limit })
}

const KEEP_ENDED = "interval '1 day'"

/**
 * Deletes at most `limit` agents whose workload and pods have ended, a day after the deletion of the last pod. A
 * revoked or suspended agent stays, so that pods with its name are still refused.
 */
export const deleteEndedAgents: DeleteBatch = async (q, limit) => {
  const { rowCount } = await q.query(
    `delete from agents where id in (
       select id from agents where ${HAS_ENDED} and created_at < now() - ${KEEP_ENDED}
         and not exists (select from pod_identities p where p.agent = agents.name and p.deleted_at > now() - ${KEEP_ENDED})
       limit $1 for update skip locked)`,
    [limit],
  )
  if (rowCount > 0) await bumpVersion(q)
  return rowCount
}

/**
 * Deletes grants that expired at least 30 days ago. The audit log still contains the requests that these grants
 * approved.
 */
export const deleteEndedGrants: DeleteBatch = (q, limit) =>
  deleteSome(q, { from: 'permission_grants', where: "expires_at < now() - interval '30 days'", limit })

export const deleteExpiredSessions: DeleteBatch = (q, limit) => {
  const idle = `make_interval(hours => ${SESSION_LIFE.idleHours})`
  const where = `expires_at < now() or seen_at < now() - ${idle}`
  return deleteSome(q, { from: 'sessions', where, limit })
}

export const deleteOldIdempotencyKeys: DeleteBatch = (q, limit) => {
  const where = "created_at < now() - interval '24 hours'"
  return deleteSome(q, { from: 'idempotency_keys', where, limit })
}

/**
 * Deletes execution orders, and results of executions, that are older than 5 minutes, even if no replica has received
 * them. Results must not stay in the database, because they contain responses of upstreams.
 */
export const deleteStaleOrders: DeleteBatch = async (q, limit) => {
  const where = "created_at < now() - interval '5 minutes'"
  const orders = await deleteSome(q, { from: 'execution_orders', where, limit })
  return orders + (await deleteSome(q, { from: 'execution_results', where, limit: limit - orders }))
}

/**
 * Deletes ranges of lost traffic records that were reported more than `days` days ago. `days` is the retention of the
 * traffic log.
 */
export function deleteOldLostRecords(days: number): DeleteBatch {
  const where = `reported_at < now() - make_interval(days => ${Math.trunc(days)})`
  return (q, limit) => deleteSome(q, { from: 'lost_records', where, limit })
}

/**
 * Deletes actions that are older than `days` days and have ended. An action has ended when no approval is pending, no
 * decision token is usable and no execution is in flight.
 */
export async function deleteOldActions(
  q: Query,
  { orgId, days, limit }: { readonly orgId: string; readonly days: number; readonly limit: number },
): Promise<number> {
  const { rows } = await q.query<{ purged: number }>(
    `with old as (
       select id from action_requests a
       where org_id = $1 and created_at < now() - make_interval(days => $2) and status <> 'pending_approval'
         and not exists (select from nonces n where n.act_id = a.id and n.used_at is null and n.expires_at > now())
         and not exists (select from executions e where e.act_id = a.id)
       order by created_at limit $3 for update skip locked
     ), gone as (delete from action_requests where id in (select id from old) returning 1),
     purged as (select count(*) as purged from gone),
     noted as (update maintenance set actions_purged = actions_purged + (select purged from purged))
     select purged from purged`,
    [orgId, days, limit],
  )
  return onlyRow(rows).purged
}

/** Deletes approvals that ended more than `days` days ago and whose action is deleted already. */
export async function deleteOldApprovals(
  q: Query,
  { orgId, days, limit }: { readonly orgId: string; readonly days: number; readonly limit: number },
): Promise<number> {
  const { rowCount } = await q.query(
    `delete from approvals where id in (
       select id from approvals a
       where org_id = $1 and status <> 'pending' and responded_at < now() - make_interval(days => $2)
         and not exists (select from action_requests r where r.id = a.act_id)
       order by responded_at limit $3 for update skip locked)`,
    [orgId, days, limit],
  )
  return rowCount
}

/**
 * Deletes invitations 30 days after use or expiry, counts of failed sign-ins after a day, and known addresses of
 * sign-ins after 180 days.
 */
export const deleteSpentInvitations: DeleteBatch = async (q, limit) => {
  await deleteSome(q, { from: 'sign_in_failures', where: "last_at < now() - interval '1 day'", limit })
  await deleteSome(q, { from: 'sign_in_addresses', where: "last_at < now() - interval '180 days'", limit })
  const where = "coalesce(used_at, expires_at) < now() - interval '30 days'"
  return deleteSome(q, { from: 'invitations', where, limit })
}

/**
 * Deletes audit events older than `days` days. Returns the number of deleted events, and the time before which all
 * deleted events were recorded.
 */
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
  // Skips a purge that has nothing to delete, because the function `purge_audit_events` grants DELETE on the audit
  // table while it runs.
  if (!any) return { purged: 0, before }
  const { rows } = await q.query<{ purged: number }>(
    'select purge_audit_events($1, now() - make_interval(days => $2)) as purged',
    [orgId, days],
  )
  return { purged: onlyRow(rows).purged, before }
}

/**
 * Drops the traffic log of all UTC days before `firstKept` (`YYYY-MM-DD`) and its roll-ups. Returns the number of
 * dropped records. Throws when readers hold the lock of the traffic log at each of 50 attempts within 15 s.
 */
export async function dropOldTraffic(q: Query, firstKept: string): Promise<number> {
  await q.query(PART_LIMIT)
  const { rows } = await q.query<{ purged: number }>('select purge_traffic($1::date) as purged', [firstKept])
  return onlyRow(rows).purged
}

export async function noteCleanup(q: Query): Promise<void> {
  await q.query('update maintenance set last_cleanup_at = now()')
}

/**
 * Reports whether the last cleanup began more than `hours` hours ago. Uses the clock of the database, which all
 * replicas share.
 */
export async function isCleanupDue(q: Query, hours: number): Promise<boolean> {
  const { rows } = await q.query<{ due: boolean }>(
    'select coalesce(last_cleanup_at < now() - make_interval(hours => $1), true) as due from maintenance',
    [hours],
  )
  return onlyRow(rows).due
}

/**
 * Deletes at most `limit` rows and skips locked rows, which the next run deletes. `from` and `where` must be constants
 * of the code, because the statement contains both unescaped.
 */
async function deleteSome(
  q: Query,
  { from, where, limit }: { readonly from: string; readonly where: string; readonly limit: number },
): Promise<number> {
  const { rowCount } = await q.query(
    `delete from ${from} where ctid = any(array(
       select ctid from ${from} old where ${where} limit $1 for update skip locked))`,
    [limit],
  )
  return rowCount
}

/**
 * Maximum number of provider handles (ids of sessions, responses, files) that are kept per agent. The oldest are
 * deleted first.
 */
const MAX_HANDLES_OF_AGENT = 100_000

const HANDLE_DAYS = 90

/** Deletes provider handles that are older than 90 days, and the oldest provider handles of an agent beyond 100,000. */
export const deleteOldHandles: DeleteBatch = async (q, limit) => {
  const old = await q.query(
    `delete from provider_handles where ctid = any(array(
       select ctid from provider_handles where received_at < now() - make_interval(days => $1) limit $2))`,
    [HANDLE_DAYS, limit],
  )
  const left = limit - (old.rowCount ?? 0)
  const surplus = await q.query(
    `delete from provider_handles where ctid = any(array(
       select ctid from (
         select ctid, row_number() over (partition by agent_id order by received_at desc, hash) as place
         from provider_handles
         where agent_id in (select agent_id from provider_handles group by agent_id having count(*) > $1)) as ranked
       where place > $1 limit $2))`,
    [MAX_HANDLES_OF_AGENT, left],
  )
  return (old.rowCount ?? 0) + (surplus.rowCount ?? 0)
}

/** Deletes slots that were used more than 10 minutes ago. Quotas count the slots of the last 60 seconds only. */
export const deleteOldSlots: DeleteBatch = async (q, limit) => {
  const { rowCount } = await q.query(
    `delete from quota_uses where ctid = any(array(
       select ctid from quota_uses where used_at < now() - interval '10 minutes' limit $1))`,
    [limit],
  )
  return rowCount ?? 0
}
