import { createWorkQueue, type WorkQueue, type WorkQueueDeps } from '../kube/queue.ts'

/**
 * Queue of keys that are processed in batches, one batch at a time: keys that are added during a batch are
 * processed in the next batch.
 */
export type BatchQueue = Pick<WorkQueue, 'add' | 'stop'>

export type BatchQueueDeps = Pick<WorkQueueDeps, 'log' | 'maxMs'> & {
  /**
   * Processes keys by their current state. Resolves with the keys for `onSingle`. A rejection queues all keys again.
   */
  readonly work: (keys: readonly string[]) => Promise<readonly string[]>
  /** Called with each key that needs a work item of its own. */
  readonly onSingle: (key: string) => void
  /** Maximum number of keys in a batch. */
  readonly batch: number
  readonly failureMessage: string
}

/** The only key of the inner work queue, which provides the back-off and waits for running work on `stop`. */
const NEXT = 'next batch'

export function createBatchQueue({
  work,
  onSingle,
  batch,
  failureMessage,
  ...deps
}: BatchQueueDeps): BatchQueue {
  const pending = new Set<string>()
  const add = (keys: readonly string[]) => {
    for (const key of keys) pending.add(key)
  }

  async function processNext(): Promise<void> {
    const keys = [...pending].slice(0, batch)
    for (const key of keys) pending.delete(key)
    const single = await work(keys).catch((error: unknown) => {
      add(keys)
      throw error
    })
    single.forEach(onSingle)
    if (pending.size > 0) queue.add(NEXT)
  }

  const queue = createWorkQueue({ ...deps, work: processNext, failureMessage: () => failureMessage })
  return {
    add(key) {
      pending.add(key)
      queue.add(NEXT)
    },
    stop: queue.stop,
  }
}
