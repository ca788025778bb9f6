import { ChaperoneError } from '../../../core/errors.ts'
import type { Namespaces, Reach, Right } from '../../../core/wire/access/rights.ts'
import { sha256Hex } from '../../../runtime/sha256.ts'
import { tokenTimes } from '../../crypto/token-times.ts'
import type { ClusterCallers, UserPrincipal } from '../../http/auth/authenticate.ts'
import { URGENT_MS, withinMs } from '../../urgent.ts'

export type RecentCallersOptions = { readonly nowMs?: () => number; readonly patienceMs?: number }

/** Rights that are cached. The routes of kill switches require these rights. */
const REMEMBERED = ['killswitches/activate', 'killswitches/lift'] as const
const REACHES = ['cluster', 'namespaces'] as const satisfies readonly Reach[]
/** Time in milliseconds for which a cached review is accepted while the cluster or the database does not answer. */
const MEMORY_MS = 12 * 3_600_000
/** Age in milliseconds from which cached rights are reviewed again at the next request of the user. */
const RIGHTS_MS = 5 * 60_000
const MAX_REMEMBERED = 10_000
const NOWHERE: Namespaces = new Set()

type Remembered = {
  readonly principal: UserPrincipal
  readonly rights: ReadonlyMap<string, Namespaces>
  readonly atMs: number
}
/**
 * A credential that a caller presented. `expiresAtMs`: expiry of the token in Unix milliseconds; null for a credential
 * without an expiry.
 */
type Shown = { readonly key: string; readonly expiresAtMs: number | null }
type Find = () => Promise<UserPrincipal | undefined>

/**
 * Caches recent users of the cluster on this replica, with their rights on kill switches, so that kill switches do
 * not depend on the API server or the database. An urgent request is authenticated within `URGENT_MS`. When the API
 * server or the database does not answer in time, the cache authenticates the user and marks the principal as
 * `unchecked`. The cache contains hashes of tokens and no tokens. `nowMs`: monotonic clock.
 */
export function withRecentCallers(
  callers: ClusterCallers,
  { nowMs = () => performance.now(), patienceMs = URGENT_MS }: RecentCallersOptions = {},
): ClusterCallers {
  const recent = new Map<string, Remembered>()

  async function remember({ key }: Shown, principal: UserPrincipal): Promise<UserPrincipal> {
    // The time is read before the review, because the result is only as recent as the start of the review.
    const atMs = nowMs()
    const rights = await rightsOf(principal)
    recent.delete(key)
    recent.set(key, { principal, rights, atMs })
    const [oldest] = recent.keys()
    if (recent.size > MAX_REMEMBERED && oldest !== undefined) recent.delete(oldest)
    return principal
  }

  async function found(shown: Shown, find: Find): Promise<UserPrincipal | undefined> {
    const principal = await find()
    if (principal === undefined) recent.delete(shown.key)
    return principal
  }

  /** Authenticates the user without the cache, and caches the user with the rights on kill switches. */
  async function checked(shown: Shown, find: Find): Promise<UserPrincipal | undefined> {
    const principal = await found(shown, find)
    return principal && remember(shown, principal)
  }

  function fromMemory({ key, expiresAtMs }: Shown): UserPrincipal | undefined {
    const known = recent.get(key)
    if (known === undefined || nowMs() - known.atMs > MEMORY_MS) return undefined
    if (expiresAtMs !== null && expiresAtMs <= Date.now()) return undefined
    const clusterRights = async (right: Right, reach: Reach) =>
      known.rights.get(`${right} ${reach}`) ?? NOWHERE
    return { ...known.principal, restriction: 'unchecked', clusterRights }
  }

  async function usual(shown: Shown, find: Find): Promise<UserPrincipal | undefined> {
    const principal = await found(shown, find)
    const isNew = nowMs() - (recent.get(shown.key)?.atMs ?? Number.NEGATIVE_INFINITY) > RIGHTS_MS
    // The rights are cached at the first request of a user, even if this request only reads. Otherwise a later urgent
    // request of this user would find no cached rights.
    if (principal !== undefined && isNew) remember(shown, principal).catch(() => undefined)
    return principal
  }

  async function urgent(shown: Shown, find: Find): Promise<UserPrincipal | undefined> {
    try {
      return await withinMs(checked(shown, find), patienceMs)
    } catch (error) {
      // The cache is used only if the API server or the database did not answer in time. Any other error rejects the
      // request.
      if (error instanceof ChaperoneError && error.code !== 'not_ready') throw error
      const known = fromMemory(shown)
      if (known !== undefined) return known
      throw error
    }
  }

  const of = (shown: Shown, find: Find, isUrgent: boolean) => (isUrgent ? urgent : usual)(shown, find)
  return {
    byToken(token, address, isUrgent = false) {
      const shown = { key: hashOf(token), expiresAtMs: tokenTimes(token).expiresAtMs }
      return of(shown, () => callers.byToken(token, address), isUrgent)
    },
    byCertificate(subject, isUrgent = false) {
      const shown = { key: hashOf(JSON.stringify(subject)), expiresAtMs: null }
      return of(shown, () => callers.byCertificate(subject), isUrgent)
    },
  }
}

async function rightsOf({ clusterRights }: UserPrincipal): Promise<ReadonlyMap<string, Namespaces>> {
  const asked = REMEMBERED.flatMap((right) => REACHES.map((reach) => ({ right, reach })))
  const answers = await Promise.all(
    asked.map(async ({ right, reach }) => {
      return [`${right} ${reach}`, (await clusterRights?.(right, reach)) ?? NOWHERE] as const
    }),
  )
  return new Map(answers)
}

function hashOf(text: string): string {
  return sha256Hex(text)
}
