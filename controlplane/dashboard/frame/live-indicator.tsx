import { useEffect, useState } from 'react'
import { useLiveStatus } from '../live/live-provider.tsx'

/** Time in milliseconds during which an interruption of the event stream is not shown. */
const GRACE_MS = 3_000

/** Shows whether the page receives live updates. */
export function LiveIndicator() {
  const status = useLiveStatus()
  const [isLost, setIsLost] = useState(false)
  useEffect(() => {
    if (status !== 'lost') return setIsLost(false)
    const timer = setTimeout(() => setIsLost(true), GRACE_MS)
    return () => clearTimeout(timer)
  }, [status])
  return (
    <span className={isLost ? 'live live-lost' : 'live'} role="status">
      {isLost ? 'Connection lost, reconnecting' : status === 'live' ? 'Live' : ''}
    </span>
  )
}
