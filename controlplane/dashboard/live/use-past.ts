import { useEffect, useState } from 'react'

/** Reports whether the moment has passed. Renders again once, when it passes. */
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
