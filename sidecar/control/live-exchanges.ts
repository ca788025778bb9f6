import type { KillEntry } from '../../core/wire/gateway/kill.ts'
import { Registry } from '../collections/registry.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { LiveExchangePort } from '../pipeline/ports.ts'

/** All exchanges in progress: requests, streams, tunnels and holds. */
export type LiveExchanges = LiveExchangePort & {
  readonly size: number
  /** Number of exchanges since the start of the process. */
  readonly total: number
  all(): Iterable<Exchange>
  /** Aborts the exchanges for which `match` returns a kill switch, and returns the number of these exchanges. */
  cut(match: (exchange: Exchange) => KillEntry | null): number
  /** Aborts all exchanges when the process stops. */
  abortAll(reason: unknown): number
}

/** Abort reason of an exchange that the kill switch aborted. */
export type KillAbort = { readonly kind: 'kill'; readonly entry: KillEntry }

export function createLiveExchanges(): LiveExchanges {
  const exchanges = new Registry<Exchange>()
  let total = 0
  return {
    add(exchange) {
      total++
      const handle = exchanges.add(exchange)
      return () => exchanges.remove(handle)
    },
    get size() {
      return exchanges.size
    },
    get total() {
      return total
    },
    all: () => exchanges.all(),
    cut(match) {
      let count = 0
      for (const exchange of exchanges.all()) {
        const entry = exchange.abort.signal.aborted ? null : match(exchange)
        if (entry === null) continue
        exchange.abort.abort({ kind: 'kill', entry } satisfies KillAbort)
        count++
      }
      return count
    },
    abortAll(reason) {
      const open = exchanges.all().filter((exchange) => !exchange.abort.signal.aborted)
      for (const exchange of open) exchange.abort.abort(reason)
      return open.length
    },
  }
}
