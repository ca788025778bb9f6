import type { ComponentType } from 'react'
import type { Right } from '../../../core/wire/rights.ts'
import type { IconName } from '../components/layout/icon.tsx'
import { Outline } from '../components/layout/loading.tsx'
import { type LazyComponent, lazyComponent } from '../components/lazy/lazy-component.tsx'
import { Page as Approvals } from './approvals/approvals-page.tsx'
import type { LazyPath } from './lazy-pages.ts'
import { Page as Overview } from './overview/overview-page.tsx'

export type PageEntry = {
  /** In the address: `#/<path>`. */
  readonly path: string
  readonly title: string
  readonly icon: IconName
  /** Who has it sees the page. */
  readonly right: Right
  readonly Page: ComponentType | LazyComponent<object>
}

/**
 * Every page, in the order of the navigation; the first one that a user may see is where it starts. What people open
 * in a hurry comes with the application; the others come together, so that few files are fetched at any time.
 */
export const PAGES: readonly PageEntry[] = [
  { path: 'overview', title: 'Overview', icon: 'overview', right: 'records/get', Page: Overview },
  { path: 'approvals', title: 'Approvals', icon: 'approvals', right: 'approvals/get', Page: Approvals },
  { path: 'traffic', title: 'Traffic', icon: 'traffic', right: 'records/get', Page: lazyPage('traffic') },
  {
    path: 'explain',
    title: 'Explain',
    icon: 'explain',
    right: 'explanations/get',
    Page: lazyPage('explain'),
  },
  {
    path: 'policies',
    title: 'Policies',
    icon: 'policies',
    right: 'policies/get',
    Page: lazyPage('policies'),
  },
  {
    path: 'permissions',
    title: 'Permissions',
    icon: 'permissions',
    right: 'explanations/get',
    Page: lazyPage('permissions'),
  },
  {
    path: 'connectors',
    title: 'Connectors',
    icon: 'connectors',
    right: 'connectors/get',
    Page: lazyPage('connectors'),
  },
  { path: 'agents', title: 'Agents', icon: 'agents', right: 'agents/get', Page: lazyPage('agents') },
  { path: 'users', title: 'Users', icon: 'users', right: 'users/get', Page: lazyPage('users') },
  { path: 'audit', title: 'Audit', icon: 'audit', right: 'auditevents/get', Page: lazyPage('audit') },
  {
    path: 'settings',
    title: 'Settings',
    icon: 'settings',
    right: 'settings/get',
    Page: lazyPage('settings'),
  },
  { path: 'bundle', title: 'Export', icon: 'copy', right: 'configuration/export', Page: lazyPage('bundle') },
  {
    path: 'get-started',
    title: 'Get started',
    icon: 'start',
    right: 'credentials/set',
    Page: lazyPage('get-started'),
  },
]

function lazyPage(path: LazyPath): LazyComponent<object> {
  return lazyComponent(async () => (await import('./lazy-pages.ts')).LAZY_PAGES[path], <Outline />)
}
