import { useEffect, useState } from 'react'

/** Returns the current time in Unix milliseconds. Renders the component again every `periodMs`. */
export function useNow(periodMs: number): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), periodMs)
    return () => clearInterval(timer)
  }, [periodMs])
  return now
}
