import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import { createLru } from '../collections/lru.ts'
import type { CertificateAuthority, Leaf } from './certificate-authority.ts'

/**
 * Maximum numbers of cached names. `owned`: hosts that a connector owns. `refused`: refused hosts, which agents choose.
 */
export const MAX_LEAVES = { owned: 5_000, refused: 1_000 } as const
/**
 * Maximum number of cached TLS contexts. A context takes tens of KiB of OpenSSL state, a leaf less than 1 KiB, so only
 * the most recently used names keep a context.
 */
const MAX_CONTEXTS = 200
const HOST_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62})(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,62}))*$/

export type LeafCache = {
  /** Returns the TLS context for a host name or IP address. Throws RangeError for any other text. */
  contextFor(host: string): SecureContext
  /** Mints the leaves of these hosts in advance, so that the first request to each is not delayed. */
  preMint(hosts: readonly string[]): void
  /** Discards all leaves after another certificate has become the signer. Open connections keep their leaf. */
  clear(): void
}

export type LeafCacheOptions = {
  /** Maximum number of cached names. */
  readonly max: number
  readonly nowMs?: () => number
}

export function createLeafCache(
  ca: CertificateAuthority,
  { max, nowMs = Date.now }: LeafCacheOptions,
): LeafCache {
  const leaves = createLru<Leaf>(max)
  const contexts = createLru<{ readonly context: SecureContext; readonly leaf: Leaf }>(
    Math.min(max, MAX_CONTEXTS),
    (entry) => release(entry.context),
  )
  // All contexts share ticket keys, so that clients can resume sessions after a context was evicted.
  const ticketKeys = randomBytes(48)

  function contextFor(host: string): SecureContext {
    const name = host.toLowerCase()
    const known = contexts.get(name)
    // The leaf is marked as used, so that it is not evicted before its context.
    leaves.get(name)
    if (known !== undefined && isFresh(known.leaf)) return known.context
    const leaf = leafFor(name)
    const context = createSecureContext({
      key: leaf.key,
      cert: leaf.cert,
      // The list of CAs is empty, because no client certificates are requested. Without the list OpenSSL would load the
      // public roots.
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
    const leaf = ca.mint(name)
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
 * Frees the OpenSSL state of a context. The garbage collector counts only the small JavaScript objects, so unused
 * contexts would accumulate (60 MiB for 2,500 names). Open connections hold their own reference to the state.
 */
function release({ context }: SecureContext): void {
  if (typeof context?.close === 'function') context.close()
}
