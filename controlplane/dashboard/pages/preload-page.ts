import { parsePageLocation } from '../routing/page-location.ts'
import { PAGES } from './page-list.tsx'

/** Fetches what a place of the address needs, before it is known who asks or whether they go there. */
export function preloadPage(hash: string): void {
  const { page } = parsePageLocation(hash)
  const Page = PAGES.find(({ path }) => path === page)?.Page
  if (Page !== undefined && 'preload' in Page) Page.preload()
}
