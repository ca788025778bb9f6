import { type Dispatcher, Pool } from 'undici'
import type { Dialer } from './dial.ts'
import type { UpstreamTarget } from './target.ts'

export type Pools = {
  /** The keep-alive connections of a target. No cap on their number: concurrency is limited per agent, in front. */
  of(target: UpstreamTarget): Dispatcher
  close(): Promise<void>
}

const MAX_POOLS = 512
/** Below the 5 s after which many servers close, so that a request seldom meets a connection that is just going. */
const KEEP_ALIVE_MS = 4_000
const KEEP_ALIVE_MAX_MS = 60_000
const MAX_RESPONSE_HEAD = 256 * 1024

export function createPools(dialer: Dialer): Pools {
  // Insertion order is use order: the first key is the one that was not used for longest.
  const pools = new Map<string, Pool>()
  let newest: { key: string; pool: Pool } | null = null

  function of(target: UpstreamTarget): Dispatcher {
    if (newest !== null && newest.key === target.key) return newest.pool
    const pool = pools.get(target.key) ?? openPool(dialer, target)
    pools.delete(target.key)
    pools.set(target.key, pool)
    newest = { key: target.key, pool }
    if (pools.size > MAX_POOLS) retireOldest(pools)
    return pool
  }

  async function close(): Promise<void> {
    newest = null
    const all = [...pools.values()]
    pools.clear()
    await Promise.all(all.map((pool) => pool.destroy()))
  }

  return { of, close }
}

/**
 * The origin is a placeholder and no TLS is left to the client library: `connect` hands over a checked, verified
 * connection, and name checks, SNI and addresses stay in one place.
 */
function openPool(dialer: Dialer, target: UpstreamTarget): Pool {
  return new Pool('http://upstream.invalid', {
    connect: (_options, done) => {
      dialer.dial(target).then(
        (socket) => done(null, socket),
        (error: Error) => done(error, null),
      )
    },
    pipelining: 1,
    allowH2: false,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
    maxHeaderSize: MAX_RESPONSE_HEAD,
  })
}

/** Closes gracefully: what runs in it ends by itself, nothing new goes in. */
function retireOldest(pools: Map<string, Pool>): void {
  const [oldest] = pools
  if (oldest === undefined) return
  pools.delete(oldest[0])
  void oldest[1].close()
}
