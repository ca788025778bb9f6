import { useCallback, useMemo, useSyncExternalStore } from 'react'
import { hrefOf, type PageLocation, parsePageLocation } from './page-location.ts'

const MOVED = 'chaperone:moved'

export function usePageLocation(): PageLocation {
  const hash = useSyncExternalStore(subscribe, () => location.hash)
  return useMemo(() => parsePageLocation(hash), [hash])
}

/** Navigates to a page and adds an entry to the browser history. */
export function navigate(
  page: string,
  query: Readonly<Record<string, string | null | undefined>> = {},
): void {
  location.hash = hrefOf(page, query)
}

/**
 * Returns the query values of the page and a function that changes them without a history entry. Null removes a value.
 */
export function useQueryState(): readonly [
  PageLocation['query'],
  (changes: Readonly<Record<string, string | null>>) => void,
] {
  const { query } = usePageLocation()
  const change = useCallback((changes: Readonly<Record<string, string | null>>) => {
    const now = parsePageLocation(location.hash)
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
