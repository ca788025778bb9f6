import { createContext, type ReactNode, use, useEffect, useState } from 'react'
import { type ChangeStream, createChangeStream, type LiveStatus } from './change-stream.ts'

const LiveContext = createContext<ChangeStream | null>(null)

/** Opens the stream of changes for the components in `children`. Closes the stream when the provider unmounts. */
export function LiveProvider({ children }: { readonly children: ReactNode }) {
  const [stream, setStream] = useState<ChangeStream | null>(null)
  useEffect(() => {
    const opened = createChangeStream()
    setStream(opened)
    return () => opened.close()
  }, [])
  return <LiveContext value={stream}>{children}</LiveContext>
}

/** Returns the stream of changes; null before `LiveProvider` has created the stream. */
export function useLive(): ChangeStream | null {
  return use(LiveContext)
}

export function useLiveStatus(): LiveStatus {
  const live = useLive()
  const [status, setStatus] = useState<LiveStatus>('connecting')
  useEffect(() => live?.onStatus(setStatus), [live])
  return status
}
