import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import { createLru } from '../collections/lru.ts'
import type { Authority, Leaf } from './certificate-authority.ts'

/** Names of a gateway: of hosts that a connector owns, and of hosts that are refused, which agents choose. */
export const MAX_LEAVES = { owned: 5_000, refused: 1_000 } as const
/** A context is tens of KiB of OpenSSL state, a leaf under one: only the busiest names keep a context. */
const MAX_CONTEXTS = 200
const HOST_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62}))*$/

export type LeafCache = {
  /** The TLS identity for a host name or address. Throws RangeError for what can be neither. */
  contextFor(host: string): SecureContext
  /** Makes the identities of these hosts now, so that their first request does not wait for it. */
  preMint(hosts: readonly string[]): void
  /** Discards all identities, because another certificate signs from now on. Open connections keep theirs. */
  clear(): void
}

export type LeafCacheOptions = {
  /** How many names are remembered. */
  readonly max: number
  readonly nowMs?: () => number
}

export function createLeafCache(
  authority: Authority,
  { max, nowMs = Date.now }: LeafCacheOptions,
): LeafCache {
  const leaves = createLru<Leaf>(max)
  const contexts = createLru<{ readonly context: SecureContext; readonly leaf: Leaf }>(
    Math.min(max, MAX_CONTEXTS),
    (entry) => release(entry.context),
  )
  // One key for all contexts: a client resumes its session although the context was made anew.
  const ticketKeys = randomBytes(48)

  function contextFor(host: string): SecureContext {
    const name = host.toLowerCase()
    const known = contexts.get(name)
    // Also a use of the certificate: it must not be forgotten before its context.
    leaves.get(name)
    if (known !== undefined && isFresh(known.leaf)) return known.context
    const leaf = leafFor(name)
    const context = createSecureContext({
      key: leaf.key,
      cert: leaf.cert,
      // An empty list: no client certificate is asked for, so the public roots need not be loaded.
      ca: [],
      minVersion: 'TLSv1.2',
      ticketKeys,
    })
    contexts.set(name, { context, leaf })
    return context
  }

  function leafFor(name: string): Leaf {
    const known = leaves.get(name)
    if (known !== undefined && isFresh(known)) return known
    if (!HOST_NAME.test(name) && isIP(name) === 0) {
      throw new RangeError(
        `no certificate for ${JSON.stringify(name)}: it is neither a host name nor an address`,
      )
    }
    const leaf = authority.mint(name)
    leaves.set(name, leaf)
    return leaf
  }

  function isFresh(leaf: Leaf): boolean {
    return nowMs() < leaf.freshUntilMs
  }

  return {
    contextFor,
    preMint(hosts) {
      for (const host of hosts) contextFor(host)
    },
    clear() {
      leaves.clear()
      contexts.clear()
    },
  }
}

/**
 * The collector sees a small object and lets dead contexts pile up (60 MiB for 2,500 names), so their OpenSSL state
 * is freed by hand. Connections that use it hold a reference of their own.
 */
function release({ context }: SecureContext): void {
  if (typeof context?.close === 'function') context.close()
}
