import { ChaperoneError } from '../core/errors.ts'

/** Of the two seconds within which a kill switch is answered: how long the check of its caller waits for the database or the cluster. */
export const URGENT_MS = 600

/** Null when it rejects or takes longer. */
export function unlessLate<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  return withinMs(promise, ms).catch(() => null)
}

/** What the promise resolves to or rejects with; rejects with `not_ready` when it takes longer. */
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
