import { useCallback, useState } from 'react'
import { type ApiError, asApiError } from '../../api/api-error.ts'

export type Mutation<A extends readonly unknown[]> = {
  readonly run: (...args: A) => void
  readonly isBusy: boolean
  readonly error: ApiError | null
  readonly reset: () => void
}

/** Runs a write operation, one at a time, and holds its error. Calls while one is in flight are ignored. */
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
