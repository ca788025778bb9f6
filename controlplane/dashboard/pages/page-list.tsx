import type { ComponentType } from 'react'
import type { Right } from '../../../core/wire/rights.ts'
import type { IconName } from '../components/layout/icon.tsx'
import { Outline } from '../components/layout/loading.tsx'
import { type Late, lazily } from '../components/lazy/lazy-component.tsx'
import { Page as Approvals } from './approvals/approvals-page.tsx'
import type { LaterPath } from './lazy-pages.ts'
import { Page as Overview } from './overview/overview-page.tsx'

export type PageEntry = {
  /** In the address: `#/<path>`. */
  readonly path: string
  readonly title: string
  readonly icon: IconName
  /** Who has it sees the page. */
  readonly right: Right
  readonly Page: ComponentType | Late<object>
}

/**
 * Every page, in the order of the navigation; the first one that a user may see is where it starts. What people open
 * in a hurry comes with the application; the others come together, so that few files are fetched at any time.
 */
export const PAGES: readonly PageEntry[] = [
  { path: 'overview', title: 'Overview', icon: 'overview', right: 'records/get', Page: Overview },
  { path: 'approvals', title: 'Approvals', icon: 'approvals', right: 'approvals/get', Page: Approvals },
  { path: 'traffic', title: 'Traffic', icon: 'traffic', right: 'records/get', Page: later('traffic') },
  { path: 'explain', title: 'Explain', icon: 'explain', right: 'explanations/get', Page: later('explain') },
  { path: 'policies', title: 'Policies', icon: 'policies', right: 'policies/get', Page: later('policies') },
  {
    path: 'permissions',
    title: 'Permissions',
    icon: 'permissions',
    right: 'explanations/get',
    Page: later('permissions'),
  },
  {
    path: 'connectors',
    title: 'Connectors',
    icon: 'connectors',
    right: 'connectors/get',
    Page: later('connectors'),
  },
  { path: 'agents', title: 'Agents', icon: 'agents', right: 'agents/get', Page: later('agents') },
  { path: 'people', title: 'People', icon: 'people', right: 'users/get', Page: later('people') },
  { path: 'audit', title: 'Audit', icon: 'audit', right: 'auditevents/get', Page: later('audit') },
  { path: 'settings', title: 'Settings', icon: 'settings', right: 'settings/get', Page: later('settings') },
  { path: 'bundle', title: 'Export', icon: 'copy', right: 'configuration/export', Page: later('bundle') },
  {
    path: 'get-started',
    title: 'Get started',
    icon: 'start',
    right: 'credentials/set',
    Page: later('get-started'),
  },
]

function later(path: LaterPath): Late<object> {
  return lazily(async () => (await import('./lazy-pages.ts')).LATER_PAGES[path], <Outline />)
}
