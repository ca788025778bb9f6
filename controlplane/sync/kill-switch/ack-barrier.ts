import type { Clock } from '../../../core/state/clock.ts'

/**
 * Number of acknowledgements of a kill state. `total` includes processes that disconnected within the last minute, so
 * that 4 of 5 may mean that one process is disconnected. `ms`: time until the last acknowledgement.
 */
export type KillAcks = { readonly acked: number; readonly total: number; readonly ms: number }

/** Counts the processes, at all replicas, that have acknowledged one broadcast of the kill state. */
export type AckBarrier = {
  ack(processId: string, seq: number): void
  /** Counts the acknowledgement of a process that is connected to another replica. */
  complete(processId: string): void
  /**
   * Resolves when all connected processes have acknowledged. After `timeoutMs`, resolves with the number of
   * acknowledgements so far.
   */
  acknowledged(timeoutMs: number): Promise<KillAcks>
  isOver(): boolean
}

export type AckBarrierInit = {
  readonly seq: number
  readonly processes: readonly string[]
  /** Number of connected and recently disconnected processes. */
  readonly total: number
  readonly clock: Clock
}

/** Milliseconds after which a barrier is discarded, even when acknowledgements are missing. */
const OVER_AFTER_MS = 10_000

export function createAckBarrier({ seq, processes, total, clock }: AckBarrierInit): AckBarrier {
  const startedAt = clock.monotonicMs()
  const open = new Set(processes)
  const done = Promise.withResolvers<void>()
  let lastAckMs = 0
  const elapsed = () => clock.monotonicMs() - startedAt
  if (open.size === 0) done.resolve()
  function complete(processId: string): void {
    if (!open.delete(processId)) return
    lastAckMs = elapsed()
    if (open.size === 0) done.resolve()
  }
  return {
    ack(processId, acked) {
      if (acked >= seq) complete(processId)
    },
    complete,
    async acknowledged(timeoutMs) {
      let timer: NodeJS.Timeout | undefined
      const timeout = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, Math.max(0, timeoutMs - elapsed()))
      })
      await Promise.race([done.promise, timeout])
      clearTimeout(timer)
      return { acked: processes.length - open.size, total, ms: Math.round(lastAckMs) }
    },
    isOver: () => open.size === 0 || elapsed() > OVER_AFTER_MS,
  }
}
