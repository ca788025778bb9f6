import { backOffLimitMs } from '../../../core/state/back-off.ts'
import { sleep } from '../../../runtime/sleep.ts'

export type Restartable = { readonly exited: Promise<unknown>; stop(graceMs: number): Promise<void> }

export type Supervised<R extends Restartable> = {
  current(): R
  stop(graceMs: number): Promise<void>
}

export type SupervisorOptions<R extends Restartable> = {
  readonly first: R
  readonly start: (signal: AbortSignal) => Promise<R>
  readonly onExit: (exit: Awaited<R['exited']>, retryMs: number) => void
  readonly onFailure: (error: unknown, retryMs: number) => void
  readonly onRestarted: (running: R) => void
  readonly backOffMs?: readonly [first: number, most: number]
}

/** Uptime in ms after which the back-off is reset. */
const HEALTHY_MS = 30_000

type State<R extends Restartable> = {
  readonly options: SupervisorOptions<R>
  readonly stopping: AbortController
  /** First and longest wait before a restart. */
  readonly waits: { readonly firstMs: number; readonly maxMs: number }
  failures: number
  current: R
}

/** Restarts a process with exponential back-off whenever it exits, until `stop` is called. */
export function supervise<R extends Restartable>(options: SupervisorOptions<R>): Supervised<R> {
  const [firstMs, maxMs] = options.backOffMs ?? [500, 30_000]
  const stopping = new AbortController()
  const waits = { firstMs, maxMs }
  const state: State<R> = { options, stopping, waits, failures: 0, current: options.first }
  const watching = watch(state)
  return {
    current: () => state.current,
    async stop(graceMs) {
      stopping.abort()
      await state.current.stop(graceMs)
      await watching
      // A restart may have created a new process while the previous process was being stopped.
      await state.current.stop(graceMs)
    },
  }
}

async function watch<R extends Restartable>(state: State<R>): Promise<void> {
  while (!state.stopping.signal.aborted) {
    const since = performance.now()
    const exit = (await state.current.exited) as Awaited<R['exited']>
    if (state.stopping.signal.aborted) return
    if (performance.now() - since > HEALTHY_MS) state.failures = 0
    let waitMs: number | null = nextWait(state)
    state.options.onExit(exit, waitMs)
    while (waitMs !== null) waitMs = await restart(state, waitMs)
  }
}

/**
 * Attempts one restart after a wait. Resolves with the next wait in ms; null when the process runs or the supervisor is
 * stopping.
 */
async function restart<R extends Restartable>(state: State<R>, waitMs: number): Promise<number | null> {
  const { options, stopping } = state
  await sleep(waitMs, stopping.signal)
  if (stopping.signal.aborted) return null
  try {
    state.current = await options.start(stopping.signal)
    options.onRestarted(state.current)
    return null
  } catch (error) {
    if (stopping.signal.aborted) return null
    const nextMs = nextWait(state)
    options.onFailure(error, nextMs)
    return nextMs
  }
}

function nextWait<R extends Restartable>(state: State<R>): number {
  return backOffLimitMs(state.failures++, state.waits)
}
