import type { Logger } from 'pino'
import { keyPrefix, matchesHash, sha256 } from '../crypto/tokens.ts'
import type { Identify, UserPrincipal } from '../http/auth.ts'
import { findAgentsByKeyPrefix, touchAgents } from '../store/agents.ts'
import { findGatewayByTokenHash } from '../store/gateways.ts'
import type { Db } from '../store/query.ts'
import { type SessionUser, useSession } from '../store/sessions.ts'
import { findUserKeys } from '../store/user-keys.ts'

/** Who is behind a session id, a key or a token. Suspended users and agents, and revoked agents, are nobody. */
export function createIdentities({ db, log }: { readonly db: Db; readonly log: Logger }): Identify {
  return {
    async session(id) {
      const user = await useSession(db, sha256(id))
      return user === undefined ? undefined : principal(user, 'session')
    },
    async approverKey(key) {
      const users = await findUserKeys(db, keyPrefix(key))
      const user = users.find((candidate) => matchesHash(key, candidate.sha256))
      return user === undefined ? undefined : principal(user, 'approver_key')
    },
    async agentKey(key) {
      const agents = await findAgentsByKeyPrefix(db, keyPrefix(key))
      const agent = agents.find((candidate) => matchesHash(key, candidate.apiKeySha256))
      if (agent?.status !== 'active') return undefined
      // Not waited for: that it was seen is no condition of the answer.
      touchAgents(db, [agent.name]).catch((error) => log.warn({ err: error }, 'last sign of life not stored'))
      return { kind: 'agent', agentId: agent.id, name: agent.name, capabilities: agent.capabilities }
    },
    gatewayToken: (token) => findGatewayByTokenHash(db, sha256(token)),
  }
}

function principal(user: SessionUser, via: UserPrincipal['via']): UserPrincipal {
  return { kind: 'user', userId: user.id, email: user.email, role: user.role, groups: user.groups, via }
}
