import { ChaperoneError } from '../core/errors.ts'

/** Returns the 429 of the specification (section 8) for an agent's key. The limit applies to all replicas together. */
export function rateLimited(retryAfterS: number): ChaperoneError {
  return new ChaperoneError('rate_limited', {
    error: 'Rate limit exceeded',
    retryAfterS,
    // Omits `message`: the body has exactly the fields of the specification.
    extra: { message: undefined },
  })
}
