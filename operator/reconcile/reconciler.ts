import { createWorkQueue, type WorkQueue, type WorkQueueDeps } from '../kube/queue.ts'

/**
 * The steps that a source of manifests (`cluster/` or `folder/`) adds to the reconcile loop. A key identifies the
 * object or the set of objects that is reconciled.
 */
export type ReconcilerDeps<Observed, Result> = {
  /** Reads the current state of the object or set with this key. */
  readonly observe: (key: string) => Promise<Observed>
  /** Makes the control plane hold the observed state. */
  readonly push: (observed: Observed) => Promise<Result>
  /** Writes the result where users read it: the status of a Kubernetes object, or log lines. */
  readonly report: (observed: Observed, result: Result) => Promise<void>
  /** Milliseconds after a success until the key is reconciled again. Default: only when the key is added again. */
  readonly resyncMs?: number
  readonly onResult?: (key: string, result: 'ok' | 'failed') => void
  /** Stops the loop: after the abort, a failed key is neither reported nor retried. */
  readonly signal: AbortSignal
  /** Options of the work queue: retries, concurrency and logging. */
  readonly queue: Omit<WorkQueueDeps, 'work'>
}

/**
 * Creates the reconcile loop of a source: observe, push, report. The loop is level-triggered: reconciling an unchanged
 * key changes nothing. A failed key is retried with back-off.
 */
export function createReconciler<Observed, Result>(deps: ReconcilerDeps<Observed, Result>): WorkQueue {
  const { observe, push, report, resyncMs, onResult, signal } = deps

  async function work(key: string): Promise<void> {
    try {
      const observed = await observe(key)
      await report(observed, await push(observed))
    } catch (error) {
      if (signal.aborted) return
      onResult?.(key, 'failed')
      throw error
    }
    onResult?.(key, 'ok')
    if (resyncMs !== undefined) queue.addAfter(key, resyncMs)
  }

  const queue = createWorkQueue({ ...deps.queue, work })
  return queue
}
