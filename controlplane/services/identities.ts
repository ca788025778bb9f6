import { ChaperoneError } from '../../core/errors.ts'
import { isSameHash, keyPrefix, matchesHash, sha256 } from '../crypto/tokens.ts'
import type { Identify, UserPrincipal } from '../http/auth.ts'
import type { VouchFor } from '../oidc/confirmation.ts'
import { findGatewayByTokenHash } from '../store/gateways.ts'
import type { Db } from '../store/query.ts'
import type { SessionUser } from '../store/sessions.ts'
import { findUserKeys, touchUserKey } from '../store/user-keys.ts'
import { URGENT_MS, unlessLate } from '../urgent.ts'
import { createAgentKeyUse } from './agent-key-use.ts'
import { createProcessOwners } from './process-owners.ts'
import { createRecentSessions } from './recent-sessions.ts'

/** Who is behind a session id, a key or a token. Suspended users and agents, and revoked agents, are nobody. */
export function createIdentities({
  db,
  podToken,
  operatorToken,
  vouchFor,
}: { readonly db: Db; readonly vouchFor: VouchFor } & Required<
  Pick<Identify, 'podToken' | 'operatorToken'>
>): Identify {
  const useAgentKey = createAgentKeyUse(db)
  /** Null where the identity provider does not answer in time. */
  const vouch = (row: SessionUser, isUrgent: boolean) =>
    isUrgent ? unlessLate(vouchFor(row), URGENT_MS) : vouchFor(row)
  const sessions = createRecentSessions(db, { nowMs: Date.now })
  /** The principal of a session that the provider was asked about where it had to be. */
  const vouchedSession = async (row: SessionUser, shown: ShownSession, isUrgent: boolean) => {
    const vouched = await vouch(row, isUrgent)
    if (vouched === 'ended') return undefined
    if (vouched === null) return unchecked(sessionPrincipal(row, shown))
    const now = vouched === 'changed' ? (await sessions.read([row.idHash])).rows[0] : row
    return now && sessionPrincipal(now, shown)
  }
  return {
    async session(ids, pageSecret, isUrgent) {
      const hashes = ids.map(sha256)
      const { rows, isChecked } = await (isUrgent ? sessions.readSoon(hashes) : sessions.read(hashes))
      const row = chooseSession(rows, pageSecret)
      if (row === undefined) return undefined
      const id = ids[hashes.findIndex((hash) => isSameHash(hash, row.idHash))] ?? ''
      const shown = { id, pageSecret }
      return isChecked ? vouchedSession(row, shown, isUrgent) : unchecked(sessionPrincipal(row, shown))
    },
    async approverKey(key) {
      const find = async () =>
        (await findUserKeys(db, keyPrefix(key))).find((candidate) => matchesHash(key, candidate.sha256))
      const known = await find()
      const vouched = known === undefined ? 'ended' : await vouchFor(known)
      const user = vouched === 'changed' ? await find() : known
      if (user === undefined || vouched === 'ended') return undefined
      await touchUserKey(db, user.keyId)
      return principal(user, 'approver_key')
    },
    async agentKey(key) {
      const use = await useAgentKey(key)
      if (use === null) return undefined
      if (!use.isAdmitted) throw rateLimited(use.retryAfterS)
      return {
        kind: 'agent',
        agentId: use.agent.id,
        name: use.agent.name,
        capabilities: use.agent.capabilities,
      }
    },
    podToken,
    operatorToken,
    ownProcesses: createProcessOwners(db),
    gatewayToken: (token) => findGatewayByTokenHash(db, sha256(token)),
  }
}

/** 60 requests per minute and agent (spec 8), over all replicas. */
function rateLimited(retryAfterS: number): ChaperoneError {
  return new ChaperoneError('rate_limited', {
    error: 'Rate limit exceeded',
    retryAfterS,
    // The body has exactly the fields that the specification gives it.
    extra: { message: undefined },
  })
}

const RANKS = ['viewer', 'member', 'admin', 'owner']

/**
 * The session that the page's secret is of, else the one with the highest role, else the oldest: a cookie that a server on
 * another port planted takes nothing from the user.
 */
function chooseSession(rows: readonly SessionUser[], pageSecret: string | undefined) {
  const own = rows.find((row) => isPageOf(row, pageSecret))
  const [first] = rows.toSorted((a, b) => RANKS.indexOf(b.role) - RANKS.indexOf(a.role))
  return own ?? first
}

function isPageOf({ pageSecretHash }: SessionUser, pageSecret: string | undefined): boolean {
  return pageSecret !== undefined && matchesHash(pageSecret, pageSecretHash)
}

type ShownSession = { readonly id: string; readonly pageSecret: string | undefined }

function unchecked(found: UserPrincipal): UserPrincipal {
  return { ...found, restriction: 'unchecked' }
}

function sessionPrincipal(row: SessionUser, { id, pageSecret }: ShownSession): UserPrincipal {
  const isPage = row.pageSecretHash !== null
  const found = { ...principal(row, 'session'), session: { id, isPage } }
  return isPage && !isPageOf(row, pageSecret) ? { ...found, restriction: 'page_secret' } : found
}

type User = Pick<SessionUser, 'id' | 'email' | 'role' | 'groups'>

function principal(user: User, via: UserPrincipal['via']): UserPrincipal {
  const { id: userId, email, role, groups } = user
  return { kind: 'user', userId, email, role, groups, via, namespaces: 'all' }
}
