import { ChaperoneError } from '../../../core/errors.ts'

/** The 429 of the specification (8) for an agent's key, over all replicas. */
export function rateLimited(retryAfterS: number): ChaperoneError {
  return new ChaperoneError('rate_limited', {
    error: 'Rate limit exceeded',
    retryAfterS,
    // The body has exactly the fields that the specification gives it.
    extra: { message: undefined },
  })
}
