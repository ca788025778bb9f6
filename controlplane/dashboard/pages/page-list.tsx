import type { ComponentType } from 'react'
import type { Right } from '../../../core/wire/access/rights.ts'
import type { IconName } from '../components/layout/icon.tsx'
import { LoadingSkeleton } from '../components/layout/loading.tsx'
import { type LazyComponent, lazyComponent } from '../components/lazy/lazy-component.tsx'
import { Page as Approvals } from './approvals/approvals-page.tsx'
import type { LazyPath } from './lazy-pages.ts'
import { Page as Overview } from './overview/overview-page.tsx'

/** Groups of the navigation, in order. */
export const PAGE_GROUPS = ['Activity', 'Rules', 'Installation'] as const

export type PageEntry = {
  /** Path in the fragment of the URL: `#/<path>`. */
  readonly path: string
  readonly title: string
  readonly group: (typeof PAGE_GROUPS)[number]
  readonly icon: IconName
  /** Right that the user needs for the page. */
  readonly right: Right
  readonly Page: ComponentType | LazyComponent<object>
}

/**
 * Pages in the order of the navigation. The first page that the user has the right to is the start page. Overview and
 * Approvals are part of the first bundle, because users open them first. All other pages share one chunk.
 */
export const PAGES: readonly PageEntry[] = [
  ...inGroup('Activity', [
    { path: 'overview', title: 'Overview', icon: 'overview', right: 'records/get', Page: Overview },
    { path: 'approvals', title: 'Approvals', icon: 'approvals', right: 'approvals/get', Page: Approvals },
    { path: 'traffic', title: 'Traffic', icon: 'traffic', right: 'records/get', Page: lazyPage('traffic') },
    { path: 'audit', title: 'Audit', icon: 'audit', right: 'auditevents/get', Page: lazyPage('audit') },
  ]),
  ...inGroup('Rules', [
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
      path: 'explain',
      title: 'Explain',
      icon: 'explain',
      right: 'explanations/get',
      Page: lazyPage('explain'),
    },
  ]),
  ...inGroup('Installation', [
    { path: 'agents', title: 'Agents', icon: 'agents', right: 'agents/get', Page: lazyPage('agents') },
    {
      path: 'connectors',
      title: 'Connectors',
      icon: 'connectors',
      right: 'connectors/get',
      Page: lazyPage('connectors'),
    },
    { path: 'users', title: 'Users', icon: 'users', right: 'users/get', Page: lazyPage('users') },
    {
      path: 'settings',
      title: 'Settings',
      icon: 'settings',
      right: 'settings/get',
      Page: lazyPage('settings'),
    },
    {
      path: 'bundle',
      title: 'Export and import',
      icon: 'copy',
      right: 'configuration/export',
      Page: lazyPage('bundle'),
    },
    {
      path: 'get-started',
      title: 'Get started',
      icon: 'start',
      right: 'credentials/set',
      Page: lazyPage('get-started'),
    },
  ]),
]

function inGroup(
  group: PageEntry['group'],
  pages: ReadonlyArray<Omit<PageEntry, 'group'>>,
): readonly PageEntry[] {
  return pages.map((page) => ({ ...page, group }))
}

function lazyPage(path: LazyPath): LazyComponent<object> {
  return lazyComponent(async () => (await import('./lazy-pages.ts')).LAZY_PAGES[path], <LoadingSkeleton />)
}
