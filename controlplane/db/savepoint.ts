import type { Query } from './query.ts'

/** Runs a part of a transaction that may fail by itself: when it rejects, what it did is undone and the rest stays. */
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
