import { parsePlace } from '../routing/place.ts'
import { PAGES } from './table.ts'

/** Fetches the chunk of the page that the address names, before it is known who asks. */
export function preloadPage(hash: string): void {
  const { page } = parsePlace(hash)
  const entry = PAGES.find(({ path }) => path === page) ?? PAGES[0]
  // Only a head start: whoever shows the page asks again and says what is wrong.
  entry?.load().catch(() => undefined)
}
