import type { UserPrincipal } from '../../../http/auth/authenticate.ts'
import { roleWithin } from '../../../http/auth/rights.ts'
import { userIdOf } from '../../audit/actor.ts'
import type { Answerer } from './service.ts'

/**
 * Converts the signed-in user to an approver, with the role that the user has in all namespaces in which the user may
 * answer.
 */
export function answererOf(user: UserPrincipal): Answerer {
  const { email, groups, namespaces, clusterCredential, clusterUser } = user
  const role = roleWithin(user, namespaces)
  const found = { kind: 'user', userId: userIdOf(user), email, role, groups, namespaces } as const
  return { ...found, clusterCredential, clusterUser }
}
