import { useCallback, useState } from 'react'
import { type ApiError, asApiError } from '../../api/api-error.ts'

export type Mutation<A extends readonly unknown[]> = {
  readonly run: (...args: A) => void
  readonly isBusy: boolean
  readonly error: ApiError | null
  readonly forget: () => void
}

/** Something a button does: once at a time, however slow the server, with its error beside it. */
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
  return { run, isBusy, error, forget: useCallback(() => setError(null), []) }
}
