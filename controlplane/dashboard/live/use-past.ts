import { useEffect, useState } from 'react'

/** Reports whether the time `at` (ISO 8601) has passed. Renders the component again when the time passes. */
export function usePast(at: string): boolean {
  const [isPast, setIsPast] = useState(() => Date.parse(at) <= Date.now())
  useEffect(() => {
    const leftMs = Date.parse(at) - Date.now()
    setIsPast(leftMs <= 0)
    if (leftMs <= 0) return
    const timer = setTimeout(() => setIsPast(true), leftMs)
    return () => clearTimeout(timer)
  }, [at])
  return isPast
}
