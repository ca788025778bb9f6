/** Something that must move now and then. `touch` is a plain store: it is called for every chunk. */
export type IdleEntry = { touch(): void; end(): void }

/**
 * One timer for all exchanges instead of one each: every twelfth of the limit each entry's mark is checked, so an
 * exchange ends after the limit and at most a twelfth more without a byte in either direction.
 */
export type IdleWatch = { add(onIdle: () => void): IdleEntry; stop(): void }

type Watched = { quiet: number; readonly onIdle: () => void }
const TICKS = 12

export function createIdleWatch(limitMs: number): IdleWatch {
  const watched = new Set<Watched>()
  let timer: NodeJS.Timeout | undefined

  function tick(): void {
    for (const entry of watched) {
      entry.quiet += 1
      if (entry.quiet <= TICKS) continue
      watched.delete(entry)
      entry.onIdle()
    }
    if (watched.size === 0) stop()
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  function add(onIdle: () => void): IdleEntry {
    const entry: Watched = { quiet: 0, onIdle }
    watched.add(entry)
    timer ??= setInterval(tick, limitMs / TICKS).unref()
    return {
      touch: () => {
        entry.quiet = 0
      },
      end: () => {
        watched.delete(entry)
      },
    }
  }

  return { add, stop }
}
