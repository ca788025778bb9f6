import { ChaperoneError } from '../../core/errors.ts'
import { keyPrefix, matchesHash, sha256 } from '../crypto/tokens.ts'
import type { Identify, UserPrincipal } from '../http/auth.ts'
import { findGatewayByTokenHash } from '../store/gateways.ts'
import type { Db } from '../store/query.ts'
import { type SessionUser, useSession } from '../store/sessions.ts'
import { findUserKeys, touchUserKey } from '../store/user-keys.ts'
import { createAgentKeyUse } from './agent-key-use.ts'

/** Who is behind a session id, a key or a token. Suspended users and agents, and revoked agents, are nobody. */
export function createIdentities({
  db,
  podToken,
  operatorToken,
}: { readonly db: Db } & Required<Pick<Identify, 'podToken' | 'operatorToken'>>): Identify {
  const useAgentKey = createAgentKeyUse(db)
  return {
    async session(id) {
      const user = await useSession(db, sha256(id))
      return user === undefined ? undefined : principal(user, 'session')
    },
    async approverKey(key) {
      const users = await findUserKeys(db, keyPrefix(key))
      const user = users.find((candidate) => matchesHash(key, candidate.sha256))
      if (user === undefined) return undefined
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

function principal(user: SessionUser, via: UserPrincipal['via']): UserPrincipal {
  return { kind: 'user', userId: user.id, email: user.email, role: user.role, groups: user.groups, via }
}
