import { ChaperoneError } from '../../../core/errors.ts'
import type { Principal } from '../route.ts'
import type { UserPrincipal } from './authenticate.ts'

/** Returns the user of a `session` or role route, which always has one. */
export function userOf(principal: Principal): UserPrincipal {
  if (principal.kind === 'user') return principal
  throw new ChaperoneError('unauthorized', { detail: 'This needs a session' })
}
