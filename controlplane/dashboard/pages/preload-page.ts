import { parsePlace } from '../routing/place.ts'
import { PAGES } from './table.ts'

/** Fetches the chunk of the page that the address names, before it is known who asks. */
export async function preloadPage(hash: string): Promise<void> {
  const { page } = parsePlace(hash)
  await (PAGES.find(({ path }) => path === page) ?? PAGES[0])?.load()
}
