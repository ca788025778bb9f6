import { useEffect, useState } from 'react'
import { useLiveStatus } from '../live/live-provider.tsx'

/** A stream that is cut for a moment every few minutes is no news. */
const PATIENCE_MS = 3_000

/** Whether what is shown follows what happens. */
export function LiveIndicator() {
  const status = useLiveStatus()
  const [isLost, setIsLost] = useState(false)
  useEffect(() => {
    if (status !== 'lost') return setIsLost(false)
    const timer = setTimeout(() => setIsLost(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [status])
  return (
    <span className={isLost ? 'live live-lost' : 'live'} role="status">
      {isLost ? 'Connection lost, trying again' : status === 'live' ? 'Live' : ''}
    </span>
  )
}
