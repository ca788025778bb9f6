import { Registry, type RegistryHandle } from '../../collections/registry.ts'

/**
 * A transfer with an idle limit. A timer increases `quiet`. Each chunk resets `quiet` to 0, which costs one assignment.
 */
export type Watched = { quiet: number; onIdle(): void }

/**
 * Watches all exchanges with one timer, which checks each exchange twelve times within the idle limit. An exchange
 * without a byte in either direction therefore ends after 1 to 13/12 times the limit.
 */
export type IdleWatch = {
  add(entry: Watched): RegistryHandle<Watched>
  remove(handle: RegistryHandle<Watched>): void
  stop(): void
}

const TICKS = 12

export function createIdleWatch(limitMs: number): IdleWatch {
  const watched = new Registry<Watched>()
  let timer: NodeJS.Timeout | undefined

  function tick(): void {
    for (const entry of watched.all()) {
      entry.quiet += 1
      if (entry.quiet <= TICKS) continue
      // The transfer stays in the registry until its exchange has ended. This value prevents a second call of `onIdle`.
      entry.quiet = Number.NEGATIVE_INFINITY
      entry.onIdle()
    }
    if (watched.size === 0) stop()
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  return {
    add(entry) {
      timer ??= setInterval(tick, limitMs / TICKS).unref()
      return watched.add(entry)
    },
    remove: (handle) => watched.remove(handle),
    stop,
  }
}
