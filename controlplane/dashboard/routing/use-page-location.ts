import { useCallback, useMemo, useSyncExternalStore } from 'react'
import { hrefOf, type Place, parsePlace } from './page-location.ts'

const MOVED = 'chaperone:moved'

export function usePlace(): Place {
  const hash = useSyncExternalStore(subscribe, () => location.hash)
  return useMemo(() => parsePlace(hash), [hash])
}

/** Goes to another place, with a step in the history of the browser. */
export function go(page: string, query: Readonly<Record<string, string | null | undefined>> = {}): void {
  location.hash = hrefOf(page, query)
}

/** Changes some of the page's state in place: no step back for every letter of a filter. Null removes one. */
export function useQueryState(): readonly [
  Place['query'],
  (changes: Readonly<Record<string, string | null>>) => void,
] {
  const { query } = usePlace()
  const change = useCallback((changes: Readonly<Record<string, string | null>>) => {
    const now = parsePlace(location.hash)
    history.replaceState(history.state, '', hrefOf(now.page, { ...now.query, ...changes }))
    dispatchEvent(new Event(MOVED))
  }, [])
  return [query, change]
}

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener)
  addEventListener(MOVED, listener)
  return () => {
    removeEventListener('hashchange', listener)
    removeEventListener(MOVED, listener)
  }
}
