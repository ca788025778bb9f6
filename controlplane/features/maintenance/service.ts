import type { Logger } from 'pino'
import { ChaperoneError } from '../../../core/errors.ts'
import type { CleanupReply } from '../../../core/wire/health.ts'
import { sleep } from '../../../runtime/sleep.ts'
import { getOrg, type OrgRow } from '../../db/orgs.ts'
import type { Db, Query } from '../../db/query.ts'
import { type Actor, systemActor } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { deleteEndedDestinations, dropUndelivered, firstKeptDay } from '../record-export/retention-store.ts'
import {
  type DeleteBatch,
  deleteEndedAgents,
  deleteEndedGrants,
  deleteExpiredNonces,
  deleteExpiredSessions,
  deleteOldActions,
  deleteOldApprovals,
  deleteOldHandles,
  deleteOldIdempotencyKeys,
  deleteOldLostRecords,
  deleteOldSlots,
  deleteSpentInvitations,
  deleteStaleOrders,
  deleteUsedNonces,
  dropOldTraffic,
  isCleanupDue,
  noteCleanup,
  purgeAudit,
  withMaintenanceLock,
} from './store.ts'

export type RetentionDeps = {
  readonly db: Db
  readonly orgId: string
  readonly log: Logger
  /**
   * Retention of audit events in days, from `AUDIT_RETENTION_DAYS`. Null means that the plan of the organisation sets
   * the retention.
   */
  readonly auditRetentionDays: number | null
  /** Retention of the traffic log in hours, from `TRAFFIC_RETENTION_HOURS`; default: 168 hours, seven days. */
  readonly trafficRetentionHours?: number
  /**
   * True if this replica exports records. If this replica does not export records, its cleanup deletes destinations
   * that no replica has used for an hour.
   */
  readonly exportsRecords?: boolean
}

export type Retention = {
  /**
   * Deletes all rows that are older than their retention. One cleanup runs at a time over all replicas. Throws
   * `conflict` when another cleanup still runs after 30 s.
   */
  run(by: Actor): Promise<CleanupReply>
  /**
   * Starts a cleanup if the last cleanup began more than a day ago, or longer ago than the retention of the traffic
   * log. Resolves to null when no cleanup is due.
   */
  runWhenDue(): Promise<CleanupReply | null>
}

const TRAFFIC_DAYS = 7
const DAY_HOURS = 24
const PLAN_DAYS: Readonly<Record<string, number>> = { Starter: 30, Pro: 90, Team: 365 }
const PATIENCE_MS = 30_000
const RETRY_MS = 200
const BATCH = 5_000

export function createRetention(deps: RetentionDeps): Retention {
  let last: Promise<unknown> = Promise.resolve()
  // Serialises the cleanups of this process in memory, because each caller that waits for the advisory lock would hold
  // a database connection.
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work, work)
    last = next.catch(() => undefined)
    return next
  }
  const run = (by: Actor) => inTurn(() => locked(deps, by))
  const everyHours = Math.min(DAY_HOURS, trafficHours(deps))
  return {
    run,
    runWhenDue: async () =>
      (await isCleanupDue(deps.db, everyHours)) ? run(systemActor('daily cleanup')) : null,
  }
}

function trafficHours({ trafficRetentionHours = TRAFFIC_DAYS * DAY_HOURS }: RetentionDeps): number {
  return trafficRetentionHours
}

/**
 * Returns the retention of audit events in days; null keeps events for ever. `AUDIT_RETENTION_DAYS` overrides the plan.
 * For the plan Enterprise, the row of the organisation holds the number of days.
 */
function retentionDays(
  configured: number | null,
  org: Pick<OrgRow, 'plan' | 'auditRetentionDays'>,
): number | null {
  return configured ?? PLAN_DAYS[org.plan] ?? org.auditRetentionDays
}

async function locked(deps: RetentionDeps, by: Actor): Promise<CleanupReply> {
  for (const until = performance.now() + PATIENCE_MS; performance.now() < until; await sleep(RETRY_MS)) {
    const done = await withMaintenanceLock(deps.db, () => cleanUp(deps, by))
    if (done !== undefined) return done.value
  }
  throw new ChaperoneError('conflict', {
    detail: 'A cleanup is running on another replica. Try again later.',
  })
}

async function cleanUp(deps: RetentionDeps, by: Actor): Promise<CleanupReply> {
  const { db } = deps
  const timestamp = new Date().toISOString()
  await noteCleanup(db)
  const part = (name: string, work: (q: Query) => Promise<number>) => attempt(deps, name, () => db.tx(work))
  const batches = (name: string, work: DeleteBatch) => attempt(deps, name, () => inBatches(db, work))
  const cleaned = {
    expired_nonces: await batches('expired_nonces', deleteExpiredNonces),
    expired_sessions: await batches('expired_sessions', deleteExpiredSessions),
    used_nonces_cleaned: await batches('used_nonces_cleaned', deleteUsedNonces),
    old_audit_events: await part('old_audit_events', (q) => purge(q, deps, by)),
  }
  const also = {
    old_traffic: await part('old_traffic', (q) => dropTraffic(q, deps)),
    ended_exports: deps.exportsRecords === true ? 0 : await part('ended_exports', deleteEndedDestinations),
    idempotency_keys: await batches('idempotency_keys', deleteOldIdempotencyKeys),
    invitations: await batches('invitations', deleteSpentInvitations),
    // Actions are deleted before approvals, because an approval with an action cannot be deleted.
    old_actions: await batches('old_actions', whenOld(deps, deleteOldActions)),
    old_approvals: await batches('old_approvals', whenOld(deps, deleteOldApprovals)),
    ended_grants: await batches('ended_grants', deleteEndedGrants),
    stale_orders: await batches('stale_orders', deleteStaleOrders),
    lost_records: await batches('lost_records', deleteOldLostRecords(TRAFFIC_DAYS)),
    rate_slots: await batches('rate_slots', deleteOldSlots),
    provider_handles: await batches('provider_handles', deleteOldHandles),
    ended_agents: await batches('ended_agents', deleteEndedAgents),
  }
  const isWhole = [...Object.values(cleaned), ...Object.values(also)].every((count) => count >= 0)
  const status = isWhole ? 'ok' : 'partial'
  deps.log.info({ status, ...cleaned, ...also }, 'cleanup done')
  return { status, timestamp, cleaned, also_cleaned: also }
}

/**
 * Returns the function that runs `work` with the retention of the audit log. The function deletes nothing when events
 * are kept for ever. Actions and approvals have this retention, because they are kept as long as their audit events.
 */
function whenOld(
  { orgId, auditRetentionDays }: RetentionDeps,
  work: (q: Query, old: { orgId: string; days: number; limit: number }) => Promise<number>,
): DeleteBatch {
  return async (q, limit) => {
    const days = retentionDays(auditRetentionDays, await getOrg(q))
    return days === null ? 0 : work(q, { orgId, days, limit })
  }
}

/**
 * Deletes days of the traffic log whose retention has ended. Days with records that are not exported yet are kept for
 * at most 7 more days; their records are then deleted without export, and an error is logged.
 */
async function dropTraffic(q: Query, deps: RetentionDeps): Promise<number> {
  const firstKept = await firstKeptDay(q, trafficHours(deps))
  const records = await dropUndelivered(q, firstKept)
  // The lock on the traffic log is taken last, because every upload of records waits for it.
  const dropped = await dropOldTraffic(q, firstKept)
  if (records > 0)
    deps.log.error(
      { records, before: firstKept },
      'records reached the end of their retention and were deleted before they were exported; check the receiver of the export',
    )
  return dropped
}

/** Runs one transaction per batch, so that locks are short and completed batches stay deleted. */
async function inBatches(db: Db, work: DeleteBatch): Promise<number> {
  for (let total = 0; ; ) {
    const removed = await db.tx((q) => work(q, BATCH))
    total += removed
    if (removed < BATCH) return total
  }
}

async function attempt({ log }: RetentionDeps, name: string, work: () => Promise<number>): Promise<number> {
  try {
    return await work()
  } catch (error) {
    log.error({ err: error, part: name }, 'a part of the cleanup failed; the next cleanup tries again')
    return -1
  }
}

async function purge(q: Query, deps: RetentionDeps, by: Actor): Promise<number> {
  const days = retentionDays(deps.auditRetentionDays, await getOrg(q))
  if (days === null) return 0
  const { purged, before } = await purgeAudit(q, deps.orgId, days)
  if (purged > 0) {
    const details = { events: purged, before: before.toISOString(), retention_days: days, by: by.label }
    await recordEvent(q, { orgId: deps.orgId, actor: by, type: 'audit.purged', details })
  }
  return purged
}
