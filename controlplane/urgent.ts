import { ChaperoneError } from '../core/errors.ts'

/**
 * Time limit in milliseconds within which the database or the API server must authenticate a caller that activates a
 * kill switch. This time is a part of the 2 s within which the response must be sent.
 */
export const URGENT_MS = 600

/** Resolves to null when the promise rejects or takes longer than `ms`. */
export function withinMsOrNull<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  return withinMs(promise, ms).catch(() => null)
}

/** Settles like the promise. Rejects with `not_ready` when the promise takes longer than `ms`. */
export function withinMs<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

function late(): ChaperoneError {
  return new ChaperoneError('not_ready', {
    detail:
      'The caller cannot be verified, because the database or the API of the cluster does not answer, and this replica has not verified the caller recently. Activate the kill switch with chaperone kill on on the machine of the control plane, or with the ConfigMap chaperone-emergency in a cluster.',
    retryAfterS: 2,
  })
}
