import type { ComponentType } from 'react'
import type { Role } from '../../../core/wire/rights.ts'
import type { IconName } from '../parts/icon.tsx'
import { type Late, lazily } from '../parts/lazily.tsx'
import { Outline } from '../parts/loading.tsx'
import { Page as Approvals } from './approvals/approvals-page.tsx'
import type { LaterPath } from './later-pages.ts'
import { Page as Overview } from './overview/overview-page.tsx'

export type PageEntry = {
  /** In the address: `#/<path>`. */
  readonly path: string
  readonly title: string
  readonly icon: IconName
  /** Who sees it at all. */
  readonly least: Role
  readonly Page: ComponentType | Late<object>
}

/**
 * Every page, in the order of the navigation; the first one that a role may see is where it starts. What people open
 * in a hurry comes with the application; the others come together, so that few files are fetched at any time.
 */
export const PAGES: readonly PageEntry[] = [
  { path: 'overview', title: 'Overview', icon: 'overview', least: 'viewer', Page: Overview },
  { path: 'approvals', title: 'Approvals', icon: 'approvals', least: 'member', Page: Approvals },
  { path: 'traffic', title: 'Traffic', icon: 'traffic', least: 'viewer', Page: later('traffic') },
  { path: 'explain', title: 'Explain', icon: 'explain', least: 'viewer', Page: later('explain') },
  { path: 'policies', title: 'Policies', icon: 'policies', least: 'admin', Page: later('policies') },
  {
    path: 'permissions',
    title: 'Permissions',
    icon: 'permissions',
    least: 'viewer',
    Page: later('permissions'),
  },
  { path: 'connectors', title: 'Connectors', icon: 'connectors', least: 'admin', Page: later('connectors') },
  { path: 'agents', title: 'Agents', icon: 'agents', least: 'admin', Page: later('agents') },
  { path: 'people', title: 'People', icon: 'people', least: 'admin', Page: later('people') },
  { path: 'audit', title: 'Audit', icon: 'audit', least: 'admin', Page: later('audit') },
  { path: 'settings', title: 'Settings', icon: 'settings', least: 'admin', Page: later('settings') },
  { path: 'bundle', title: 'Export', icon: 'copy', least: 'admin', Page: later('bundle') },
  { path: 'get-started', title: 'Get started', icon: 'start', least: 'admin', Page: later('get-started') },
]

function later(path: LaterPath): Late<object> {
  return lazily(async () => (await import('./later-pages.ts')).LATER_PAGES[path], <Outline />)
}
