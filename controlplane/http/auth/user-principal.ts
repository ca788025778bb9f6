import { ChaperoneError } from '../../../core/errors.ts'
import type { Principal } from '../route.ts'
import type { UserPrincipal } from './authenticate.ts'

/** Narrows the principal to a user. Routes that require a session or a right admit only users. */
export function userOf(principal: Principal): UserPrincipal {
  if (principal.kind === 'user') return principal
  throw new ChaperoneError('unauthorized', { detail: 'This request requires a session.' })
}
