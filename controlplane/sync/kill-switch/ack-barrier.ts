import type { Clock } from '../../../core/state/clock.ts'

/** How far a stop got: `4 of 5` when one of the gateway processes known in the last minute is away. */
export type KillAcks = { readonly acked: number; readonly total: number; readonly ms: number }

/** One sending of the kill state, and who acknowledged it, here and at other replicas. */
export type AckBarrier = {
  ack(processId: string, seq: number): void
  /** The process of another replica has acknowledged these stops. */
  complete(processId: string): void
  /** Resolves when all connected processes acknowledged, or after `timeoutMs` with those that did. */
  acknowledged(timeoutMs: number): Promise<KillAcks>
  isOver(): boolean
}

export type AckBarrierInit = {
  readonly seq: number
  readonly processes: readonly string[]
  /** Connected ones and those that are away. */
  readonly total: number
  readonly clock: Clock
}

/** A round is forgotten after this time, complete or not. */
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
