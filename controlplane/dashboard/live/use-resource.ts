import { useCallback, useEffect, useRef, useState } from 'react'
import type { ChangeKind } from '../../../core/wire/overview.ts'
import { type ApiError, asApiError } from '../api/api-error.ts'
import type { InputOf, ReadName, ReplyOf } from '../api/operations.ts'
import { sharedRead } from '../api/shared-read.ts'
import { useLive } from './live-provider.tsx'

export type Resource<T> = {
  /**
   * Last reply; null before the first reply. The reply is kept while the resource is read again, and after errors.
   */
  readonly data: T | null
  /** Error of the last attempt; null after a success. */
  readonly error: ApiError | null
  /** True until the first reply or error for the current input. */
  readonly isLoading: boolean
  readonly reload: () => void
}

export type ResourceOptions = {
  /** Kinds of objects. When an object of one of these kinds changes, the resource is read again. */
  readonly on?: readonly ChangeKind[]
  /** Reload interval in milliseconds, for changes that the event stream does not report. */
  readonly everyMs?: number
}

/** Retry interval in milliseconds after network errors and 5xx responses. */
const RETRY_MS = 5_000

type State<T> = { readonly key: string; readonly data: T | null; readonly error: ApiError | null }

/** Reads a resource from the API and reads it again after changes. When `input` is null, sends no request. */
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

  const isTransient = state.error !== null && (state.error.status === 0 || state.error.status >= 500)
  useEffect(() => {
    if (!isTransient) return
    const timer = setInterval(() => loader.current(), RETRY_MS)
    return () => clearInterval(timer)
  }, [isTransient])

  const reload = useCallback(() => loader.current(), [])
  return { data: state.data, error: state.error, isLoading: input !== null && state.key !== key, reload }
}

/** Returns a function that sends one request at a time. Calls during a request cause one more request after it. */
function createLoader<T>(
  read: () => Promise<T>,
  handlers: { readonly onData: (data: T) => void; readonly onError: (error: ApiError) => void },
): { readonly load: () => void; readonly stop: () => void } {
  let isStopped = false
  let isRunning = false
  let isQueued = false
  const run = async () => {
    try {
      const data = await read()
      if (!isStopped) handlers.onData(data)
    } catch (error) {
      if (!isStopped) handlers.onError(asApiError(error))
    }
    isRunning = false
    if (isQueued && !isStopped) load()
  }
  const load = () => {
    isQueued = isRunning
    if (isRunning) return
    isRunning = true
    void run()
  }
  const stop = () => {
    isStopped = true
  }
  return { load, stop }
}
