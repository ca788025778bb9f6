import { withoutSearchDomain } from '../../../core/capture/search-names.ts'
import { createLru } from '../../collections/lru.ts'
import type { Credentials } from '../../pipeline/credentials/credentials.ts'
import { newConnectExchange } from '../connect-exchange.ts'
import type { FrontDeps } from '../deps.ts'
import { createDiscardingReply } from '../discarding-reply.ts'

export type UnownedNamesDeps = Pick<FrontDeps, 'handle' | 'newRequestId' | 'log'> & {
  /** Search domains of the cluster and its nodes, which resolvers of clients append. */
  readonly domains: readonly string[]
  readonly isUnowned: (name: string) => boolean
  readonly monotonicMs: () => number
}

/**
 * Period in milliseconds in which queries for one name count as one DNS look-up. Resolvers send A and AAAA queries, and
 * repeat both.
 */
const ONE_LOOKUP_MS = 60_000
const REMEMBERED_NAMES = 10_000
const REVERSE = /(?:^|\.)(?:in-addr|ip6)\.arpa$/
const LOCAL = /(?:^|\.)localhost$/

/**
 * Creates one exchange for each DNS look-up of a name that no connector owns. The pipeline refuses and records the
 * exchange like a connection to that host. Reverse look-ups and loopback names are ignored.
 */
export function createUnownedNames(deps: UnownedNamesDeps): (name: string, credentials: Credentials) => void {
  const { domains, isUnowned, monotonicMs } = deps
  const reported = createLru<number>(REMEMBERED_NAMES)

  function isReported(credentials: Credentials, name: string): boolean {
    const key = JSON.stringify([agentOf(credentials), name])
    const now = monotonicMs()
    const isRecent = now - (reported.get(key) ?? Number.NEGATIVE_INFINITY) < ONE_LOOKUP_MS
    if (!isRecent) reported.set(key, now)
    return isRecent
  }

  return (asked, credentials) => {
    if (REVERSE.test(asked) || LOCAL.test(asked)) return
    const name = withoutSearchDomain(asked, domains)
    // A connector may own the name without its search domain, although none owns the queried name.
    if (!isUnowned(name) || isReported(credentials, name)) return
    deps
      .handle(lookupOf(name, credentials, deps.newRequestId()))
      .catch((error: unknown) => deps.log.error({ err: error }, 'exchange failed'))
  }
}

function agentOf(credentials: Credentials): string | null {
  return credentials.kind === 'port' ? credentials.agent : (credentials.keyedPort?.agent ?? null)
}

/**
 * Creates the exchange of the CONNECT that would follow the DNS look-up. Characters that host names do not contain
 * become `?`: DNS labels may contain any byte, and PostgreSQL text cannot contain NUL.
 */
function lookupOf(name: string, credentials: Credentials, id: string) {
  const target = `${name.replace(/[^a-z0-9._-]/g, '?')}:443`
  const exchange = newConnectExchange({
    id,
    target,
    credentials,
    reply: createDiscardingReply(),
    abort: new AbortController(),
    problem: null,
  })
  exchange.outcome.note = 'name look-up'
  return exchange
}
