import type { Query } from './query.ts'

/** Runs `work` in a savepoint. When `work` rejects, rolls back its changes; the transaction can continue. */
export async function savepoint<T>(q: Query, work: () => Promise<T>): Promise<T> {
  await q.query('savepoint part')
  try {
    const value = await work()
    await q.query('release savepoint part')
    return value
  } catch (error) {
    await q.query('rollback to savepoint part')
    throw error
  }
}
