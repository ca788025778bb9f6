import type { Namespaces } from '../../../core/wire/access/rights.ts'
import { sha256, sha256Hex } from '../../../runtime/sha256.ts'
import { keyPrefix, matchesHash } from '../../crypto/tokens.ts'
import type { Db } from '../../db/query.ts'
import { createDeadline } from '../../deadline.ts'
import type { AgentPrincipal, Identify, UserPrincipal } from '../../http/auth/authenticate.ts'
import { rateLimited } from '../../rate-limited.ts'
import { URGENT_MS, withinMsOrNull } from '../../urgent.ts'
import { createAgentKeyUse, createUncheckedUse, type KeyUse } from '../agents/key-use.ts'
import { findGatewayByTokenHash } from '../gateways/rows.ts'
import { createProcessOwners } from '../gateways/service.ts'
import type { ConfirmAccess } from '../oidc/confirmation.ts'
import { listSessionsInForce, type SessionUser } from '../sessions/rows.ts'
import { usersOfSessions } from '../sessions/service.ts'
import { findUserKeys } from '../users/rows.ts'
import { touchApproverKey } from './approver-key-use-store.ts'
import { queueLookups } from './lookup-queue.ts'
import { createRecentAnswers, type Lookup } from './recent-lookups.ts'

export type Identities = Identify & {
  /**
   * Caches the valid sessions. An urgent request can then be authenticated from the cache, even if its user has not
   * used this replica before. Rejects when the database does not answer.
   */
  preloadSessions(): Promise<void>
}

const MAX_PRELOADED = 5_000

/**
 * Creates the functions that authenticate callers by session id, key or token. Suspended users, suspended agents and
 * revoked agents are not authenticated.
 */
export function createIdentities({
  db,
  podToken,
  operatorToken,
  clusterCallers,
  confirmAccess,
}: { readonly db: Db; readonly confirmAccess: ConfirmAccess } & Required<
  Pick<Identify, 'podToken' | 'operatorToken' | 'clusterCallers'>
>): Identities {
  const useUnchecked = createUncheckedUse(() => performance.now())
  const sessions = createRecentAnswers(queueLookups(sessionLookup(db)))
  const agentKeys = createRecentAnswers(single(createAgentKeyUse(db)))
  const approverKeys = createRecentAnswers(queueLookups(single(approverKeyLookup(db))))
  const gatewayTokens = createRecentAnswers(queueLookups(single(gatewayLookup(db))))
  /**
   * Returns the principal of a session. If a confirmation of the user is due, the identity provider confirms the user
   * first.
   */
  const confirmedSession = async ([id, row]: KnownSession, shown: ShownSession) => {
    const asked = confirmAccess(row)
    const vouched = await (shown.isUrgent ? withinMsOrNull(asked, shown.remainingMs()) : asked)
    if (vouched === 'ended') return undefined
    if (vouched === null) return unchecked(sessionPrincipal([id, row], shown))
    const now = vouched === 'changed' ? (await sessions([id], false)).found.get(id) : row
    return now && sessionPrincipal([id, now], shown)
  }
  return {
    async preloadSessions() {
      const rows = await listSessionsInForce(db, MAX_PRELOADED)
      sessions.remember(
        rows.map(({ idleS, ...value }) => ({ sha256: value.idHash, value, ageMs: idleS * 1_000 })),
      )
    },
    async session(ids, pageSecret, isUrgent, address) {
      const shown = { pageSecret, isUrgent, remainingMs: createDeadline(URGENT_MS).remainingMs }
      const { found, isChecked } = await sessions(ids, isUrgent, address)
      const chosen = chooseSession([...found], pageSecret)
      if (chosen === undefined) return undefined
      return isChecked ? confirmedSession(chosen, shown) : unchecked(sessionPrincipal(chosen, shown))
    },
    async approverKey(key, address) {
      const find = async () => (await approverKeys([key], false, address)).found.get(key)
      const known = await find()
      const vouched = known === undefined ? 'ended' : await confirmAccess(known)
      const user = vouched === 'changed' ? await find() : known
      if (user === undefined || vouched === 'ended') return undefined
      await touchApproverKey(db, user.keyId)
      return userPrincipal(user, 'approver_key')
    },
    async agentKey(key, isUrgent) {
      const { found, isChecked } = await agentKeys([key], isUrgent)
      const known = found.get(key)
      if (known === undefined) return undefined
      const use = isChecked ? known : useUnchecked(known.agent)
      if (!use.isAdmitted) throw rateLimited(use.retryAfterS)
      return isChecked ? agentPrincipal(use) : unchecked(agentPrincipal(use))
    },
    podToken,
    operatorToken,
    clusterCallers,
    ownProcesses: createProcessOwners(db),
    async gatewayToken(token, isUrgent, address) {
      const { found, isChecked } = await gatewayTokens([token], isUrgent, address)
      const gateway = found.get(token)
      return gateway === undefined || isChecked ? gateway : unchecked(gateway)
    },
  }
}

function sessionLookup(db: Db): Lookup<SessionUser> {
  return async (ids) => {
    const byHash = new Map(ids.map((id) => [sha256Hex(id), id]))
    const rows = await usersOfSessions(db, ids.map(sha256))
    return new Map(rows.map((row) => [byHash.get(row.idHash.toString('hex')) ?? '', row]))
  }
}

function approverKeyLookup(db: Db) {
  return async (key: string) =>
    (await findUserKeys(db, keyPrefix(key))).find((candidate) => matchesHash(key, candidate.sha256))
}

function gatewayLookup(db: Db) {
  return async (token: string) => {
    const row = await findGatewayByTokenHash(db, sha256(token))
    return row && { id: row.id, name: row.name }
  }
}

function single<T>(find: (secret: string) => Promise<T | null | undefined>): Lookup<T> {
  return async ([secret = '']) => {
    const found = await find(secret)
    return new Map(found == null ? [] : [[secret, found]])
  }
}

const RANKS = ['viewer', 'member', 'admin', 'owner']

type KnownSession = readonly [id: string, row: SessionUser]

/**
 * Chooses among several session cookies of one request: the session whose page secret (sent by a dashboard page in a
 * header) is in the request, otherwise the session with the highest role, otherwise the oldest session. The choice is
 * necessary because a server on another port of the same host can set a cookie, which must not replace the user's
 * session.
 */
function chooseSession(sessions: readonly KnownSession[], pageSecret: string | undefined) {
  const own = sessions.find(([, row]) => isPageOf(row, pageSecret))
  const [first] = sessions.toSorted(([, a], [, b]) => RANKS.indexOf(b.role) - RANKS.indexOf(a.role))
  return own ?? first
}

function isPageOf({ pageSecretHash }: SessionUser, pageSecret: string | undefined): boolean {
  return pageSecret !== undefined && matchesHash(pageSecret, pageSecretHash)
}

type ShownSession = {
  readonly pageSecret: string | undefined
  readonly isUrgent: boolean
  /** Returns the remaining time in milliseconds until an urgent request must be answered. */
  readonly remainingMs: () => number
}

function unchecked<T extends object>(found: T): T & { readonly restriction: 'unchecked' } {
  return { ...found, restriction: 'unchecked' }
}

function sessionPrincipal([id, row]: KnownSession, { pageSecret }: ShownSession): UserPrincipal {
  const isPage = row.pageSecretHash !== null
  const found = { ...userPrincipal(row, 'session'), session: { id, isPage } }
  return isPage && !isPageOf(row, pageSecret) ? { ...found, restriction: 'page_secret' } : found
}

type User = Pick<SessionUser, 'id' | 'email' | 'role' | 'groups' | 'namespaces' | 'lowerRoles'>

/** Converts the user and the stored roles to a principal. */
export function userPrincipal(user: User, via: UserPrincipal['via']): UserPrincipal {
  const { id: userId, email, role, groups } = user
  const found = { kind: 'user', userId, email, role, groups, via } as const
  if (user.namespaces === null) return { ...found, namespaces: 'all' }
  const roleNamespaces = new Set(user.namespaces)
  const lowerRoles = user.lowerRoles.map((entry) => ({ role: entry.role, namespaces: reachOf(entry) }))
  return { ...found, namespaces: roleNamespaces, roleNamespaces, lowerRoles }
}

function reachOf({ namespaces }: Pick<User, 'namespaces'>): Namespaces {
  return namespaces === null ? 'all' : new Set(namespaces)
}

function agentPrincipal({ agent: { id, name, capabilities } }: KeyUse): AgentPrincipal {
  return { kind: 'agent', agentId: id, name, capabilities }
}
