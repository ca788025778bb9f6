import { parsePageLocation } from '../routing/page-location.ts'
import { PAGES } from './page-list.tsx'

/** Loads the chunk of a page before the user opens it. */
export function preloadPage(hash: string): void {
  const { page } = parsePageLocation(hash)
  const Page = PAGES.find(({ path }) => path === page)?.Page
  if (Page !== undefined && 'preload' in Page) Page.preload()
}
