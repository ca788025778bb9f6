import { useCallback, useEffect, useRef, useState } from 'react'
import type { ChangeKind } from '../../../core/wire/dashboard.ts'
import { type ApiError, asApiError } from '../api/api-error.ts'
import type { InputOf, ReadName, ReplyOf } from '../api/operations.ts'
import { sharedRead } from '../api/shared-read.ts'
import { useLive } from './live-provider.tsx'

export type Resource<T> = {
  /** What was read last, also while it is read again or cannot be. */
  readonly data: T | null
  /** Why the newest attempt failed; null after a success. */
  readonly error: ApiError | null
  /** Nothing is known yet for this question. */
  readonly isLoading: boolean
  readonly reload: () => void
}

export type ResourceOptions = {
  /** Read again when one of these changes. */
  readonly on?: readonly ChangeKind[]
  /** And now and then, for what no event tells; milliseconds. */
  readonly everyMs?: number
}

/** What the network or a restart was the reason of is asked again without anybody's doing. */
const RETRY_MS = 5_000

type State<T> = { readonly key: string; readonly data: T | null; readonly error: ApiError | null }

/** One read of the API, kept fresh. `input` null: nothing is asked. */
export function useResource<N extends ReadName>(
  name: N,
  input: InputOf<N> | null,
  { on = [], everyMs }: ResourceOptions = {},
): Resource<ReplyOf<N>> {
  const live = useLive()
  const key = JSON.stringify([name, input])
  const kinds = on.join()
  const [state, setState] = useState<State<ReplyOf<N>>>({ key: '', data: null, error: null })
  const loader = useRef<() => void>(() => undefined)

  useEffect(() => {
    const [, given] = JSON.parse(key) as [N, InputOf<N> | null]
    if (given === null) return
    const { load, stop } = createLoader(() => sharedRead(name, given), {
      onData: (data) => setState({ key, data, error: null }),
      onError: (error) => setState((before) => ({ key, data: before.data, error })),
    })
    loader.current = load
    load()
    return stop
  }, [name, key])

  useEffect(() => {
    const wanted = kinds === '' ? [] : (kinds.split(',') as ChangeKind[])
    const stop = live?.subscribe(wanted, () => loader.current())
    const timer = everyMs === undefined ? 0 : window.setInterval(() => loader.current(), everyMs)
    return () => {
      stop?.()
      clearInterval(timer)
    }
  }, [live, kinds, everyMs])

  const isPassing = state.error !== null && (state.error.status === 0 || state.error.status >= 500)
  useEffect(() => {
    if (!isPassing) return
    const timer = setInterval(() => loader.current(), RETRY_MS)
    return () => clearInterval(timer)
  }, [isPassing])

  const reload = useCallback(() => loader.current(), [])
  return { data: state.data, error: state.error, isLoading: input !== null && state.key !== key, reload }
}

/** One request at a time; whatever asks meanwhile gets one more afterwards. */
function createLoader<T>(
  read: () => Promise<T>,
  told: { readonly onData: (data: T) => void; readonly onError: (error: ApiError) => void },
): { readonly load: () => void; readonly stop: () => void } {
  let isStopped = false
  let isRunning = false
  let isWantedAgain = false
  const run = async () => {
    try {
      const data = await read()
      if (!isStopped) told.onData(data)
    } catch (error) {
      if (!isStopped) told.onError(asApiError(error))
    }
    isRunning = false
    if (isWantedAgain && !isStopped) load()
  }
  const load = () => {
    isWantedAgain = isRunning
    if (isRunning) return
    isRunning = true
    void run()
  }
  const stop = () => {
    isStopped = true
  }
  return { load, stop }
}
