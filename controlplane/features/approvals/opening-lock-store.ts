import type { Query } from '../../db/query.ts'

const KILL_LOCK = "hashtextextended('approvals and stops', 0)"

/**
 * Takes a shared advisory lock until the transaction ends. Transactions that open or join an approval take the lock
 * before they read the kill switches. Therefore, either such a transaction reads a kill switch that is activated
 * concurrently, or the activation cancels the approval that the transaction stored.
 */
export async function shareOpeningLock(q: Query): Promise<void> {
  await q.query(`select pg_advisory_xact_lock_shared(${KILL_LOCK})`, [])
}

/**
 * Takes the lock of `shareOpeningLock`, and a lock that serialises the transactions that open holds for one agent. Both
 * locks are held until the transaction ends.
 */
export async function lockForHold(q: Query, orgId: string, agent: string): Promise<void> {
  await q.query(
    `select pg_advisory_xact_lock_shared(${KILL_LOCK}), pg_advisory_xact_lock(hashtextextended($1, 0))`,
    [`approvals ${orgId} ${agent}`],
  )
}

/**
 * Takes the exclusive advisory lock, and so waits for the end of all transactions that open or join approvals.
 * Transactions that take the shared lock afterwards read the new kill switch.
 */
export async function excludeOpening(q: Query): Promise<void> {
  await q.query(`select pg_advisory_xact_lock(${KILL_LOCK})`, [])
}
