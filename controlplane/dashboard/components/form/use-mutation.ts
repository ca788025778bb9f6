import { useCallback, useState } from 'react'
import { type ApiError, asApiError } from '../../api/api-error.ts'

export type Mutation<A extends readonly unknown[]> = {
  readonly run: (...args: A) => void
  readonly isBusy: boolean
  readonly error: ApiError | null
  readonly reset: () => void
}

/**
 * Returns a function that runs a write operation, with the state and the last error of the operation. Ignores a call
 * while an earlier call is in flight.
 */
export function useMutation<A extends readonly unknown[]>(work: (...args: A) => Promise<void>): Mutation<A> {
  const [isBusy, setIsBusy] = useState(false)
  const [error, setError] = useState<ApiError | null>(null)
  const run = (...args: A) => {
    if (isBusy) return
    setIsBusy(true)
    setError(null)
    work(...args)
      .catch((failure: unknown) => setError(asApiError(failure)))
      .finally(() => setIsBusy(false))
  }
  return { run, isBusy, error, reset: useCallback(() => setError(null), []) }
}
