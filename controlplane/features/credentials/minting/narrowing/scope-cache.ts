/** Cache of replies by Connector and scope. */
export type ScopeCache<R> = {
  /**
   * Returns the cached reply, otherwise the reply of `make`. Concurrent calls with one key share one call of `make`.
   */
  get(at: Place, make: () => Promise<Made<R>>): Promise<R>
  /** Returns the number of cached replies by the name of the Connector. */
  counts(): ReadonlyMap<string, number>
}

type Place = { readonly connector: { readonly id: string; readonly name: string }; readonly key: string }

/** `keepMs`: milliseconds for which the reply is cached; 0 for a reply that is not cached. */
type Made<R> = { readonly reply: R; readonly keepMs: number }

/** Maximum number of cached scopes per Connector. The least recently used scope is evicted. */
const MAX_SCOPES = 256
/** Maximum number of cached Connectors. The Connector that was added first is evicted. */
const MAX_CONNECTORS = 1_000
/** Maximum number of concurrent calls of `make` per Connector. Further calls are queued. */
const MAX_IN_FLIGHT = 16

type Kept<R> = { readonly reply: R; readonly untilMs: number }
type Own<R> = {
  readonly name: string
  /** Cached replies by key. A Map keeps insertion order, so the first key is the least recently used key. */
  readonly kept: Map<string, Kept<R>>
  readonly pending: Map<string, Promise<R>>
  readonly waiting: Array<() => void>
  running: number
}

export function createScopeCache<R>(monotonicMs: () => number): ScopeCache<R> {
  const connectors = new Map<string, Own<R>>()

  function ownOf({ id, name }: Place['connector']): Own<R> {
    const known = connectors.get(id)
    if (known !== undefined) return known
    const own: Own<R> = { name, kept: new Map(), pending: new Map(), waiting: [], running: 0 }
    const [oldest] = connectors.keys()
    if (connectors.size >= MAX_CONNECTORS && oldest !== undefined) connectors.delete(oldest)
    connectors.set(id, own)
    return own
  }

  return {
    get({ connector, key }, make) {
      const own = ownOf(connector)
      const known = own.kept.get(key)
      own.kept.delete(key)
      if (known !== undefined && known.untilMs > monotonicMs()) {
        own.kept.set(key, known)
        return Promise.resolve(known.reply)
      }
      const running = own.pending.get(key)
      if (running !== undefined) return running
      const pending = inTurn(own, make)
        .then(({ reply, keepMs }) => {
          if (keepMs > 0) keep(own, key, { reply, untilMs: monotonicMs() + keepMs })
          return reply
        })
        .finally(() => own.pending.delete(key))
      own.pending.set(key, pending)
      return pending
    },
    counts: () => new Map([...connectors.values()].map(({ name, kept }) => [name, kept.size])),
  }
}

function keep<R>({ kept }: Own<R>, key: string, reply: Kept<R>): void {
  kept.set(key, reply)
  const [oldest] = kept.keys()
  if (kept.size > MAX_SCOPES && oldest !== undefined) kept.delete(oldest)
}

async function inTurn<R, T>(own: Own<R>, make: () => Promise<T>): Promise<T> {
  while (own.running >= MAX_IN_FLIGHT) await new Promise<void>((resolve) => own.waiting.push(resolve))
  own.running += 1
  try {
    return await make()
  } finally {
    own.running -= 1
    own.waiting.shift()?.()
  }
}
