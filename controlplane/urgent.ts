import { ChaperoneError } from '../core/errors.ts'

/**
 * Time limit of the authentication of a caller that activates the kill switch, by the database or the cluster. It is
 * part of the 2 s of the answer.
 */
export const URGENT_MS = 600

/** Resolves to null when the promise rejects or takes longer than `ms`. */
export function withinMsOrNull<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  return withinMs(promise, ms).catch(() => null)
}

/** Settles as the promise does; rejects with `not_ready` when it takes longer than `ms`. */
export function withinMs<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(late()), ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

function late(): ChaperoneError {
  return new ChaperoneError('not_ready', {
    detail:
      'The caller cannot be checked now, because the database or the API of the cluster does not answer, and this replica has not seen them lately. Activate the kill switch with chaperone kill on on the machine of the control plane, or with the ConfigMap chaperone-emergency in a cluster.',
    retryAfterS: 2,
  })
}
