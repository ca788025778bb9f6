import { ChaperoneError } from '../core/errors.ts'

/**
 * Returns the 429 error for an agent that exceeds the rate limit of its key (spec 8). The limit applies to all replicas
 * together.
 */
export function rateLimited(retryAfterS: number): ChaperoneError {
  return new ChaperoneError('rate_limited', {
    error: 'Rate limit exceeded',
    retryAfterS,
    // The body of this response has exactly the fields of the specification, so `message` is omitted.
    extra: { message: undefined },
  })
}
