import { Registry, type RegistryHandle } from '../collections/registry.ts'

/** A transfer with an idle limit. Each chunk sets `quiet` to 0, which costs one assignment. */
export type Watched = { quiet: number; onIdle(): void }

/**
 * Watches all exchanges with one timer. It checks each entry twelve times within the limit, so an exchange without a
 * byte in either direction ends after the limit and at most a twelfth more.
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
      // `onIdle` is called only once, because the entry stays in the registry until the exchange has ended.
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
