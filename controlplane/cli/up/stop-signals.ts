import { EXIT } from '../command.ts'

export type StopSignals = Disposable & {
  /** Resolves when the first signal arrives. */
  readonly requested: Promise<void>
  /**
   * AbortSignal that is aborted when the first signal of the operating system arrives. It cancels a start in
   * progress.
   */
  readonly starting: AbortSignal
}

/** Signals that stop the installation. SIGHUP is sent when the terminal closes. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Listens for signals until disposed. The first signal requests a graceful stop. The second signal has no effect,
 * because npm forwards a Ctrl-C that the terminal has already sent to this process. The third signal ends the process
 * at once.
 */
export function stopSignals(): StopSignals {
  const controller = new AbortController()
  const { promise, resolve } = Promise.withResolvers<void>()
  let count = 0
  const onSignal = () => {
    count += 1
    controller.abort()
    resolve()
    if (count > 2) process.exit(EXIT.refused)
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return {
    requested: promise,
    starting: controller.signal,
    [Symbol.dispose]() {
      for (const signal of SIGNALS) process.removeListener(signal, onSignal)
    },
  }
}
