import type { ComponentType } from 'react'
import type { IconName } from '../parts/icon.tsx'
import type { Role } from '../session/roles.ts'

export type PageEntry = {
  /** In the address: `#/<path>`. */
  readonly path: string
  readonly title: string
  readonly icon: IconName
  /** Who sees it at all. */
  readonly least: Role
  /** Its own chunk, loaded when somebody goes there. */
  readonly load: () => Promise<{ readonly Page: ComponentType }>
}

/** Every page, in the order of the navigation; the first one that a role may see is where it starts. */
export const PAGES: readonly PageEntry[] = [
  {
    path: 'overview',
    title: 'Overview',
    icon: 'overview',
    least: 'viewer',
    load: () => import('./overview/overview-page.tsx'),
  },
  {
    path: 'approvals',
    title: 'Approvals',
    icon: 'approvals',
    least: 'member',
    load: () => import('./approvals/approvals-page.tsx'),
  },
  {
    path: 'traffic',
    title: 'Traffic',
    icon: 'traffic',
    least: 'viewer',
    load: () => import('./traffic/traffic-page.tsx'),
  },
  {
    path: 'explain',
    title: 'Explain',
    icon: 'explain',
    least: 'viewer',
    load: () => import('./explain/explain-page.tsx'),
  },
  {
    path: 'policies',
    title: 'Policies',
    icon: 'policies',
    least: 'admin',
    load: () => import('./policies/policies-page.tsx'),
  },
  {
    path: 'permissions',
    title: 'Permissions',
    icon: 'permissions',
    least: 'viewer',
    load: () => import('./permissions/permissions-page.tsx'),
  },
  {
    path: 'connectors',
    title: 'Connectors',
    icon: 'connectors',
    least: 'admin',
    load: () => import('./connectors/connectors-page.tsx'),
  },
  {
    path: 'agents',
    title: 'Agents',
    icon: 'agents',
    least: 'admin',
    load: () => import('./agents/agents-page.tsx'),
  },
  {
    path: 'people',
    title: 'People',
    icon: 'people',
    least: 'admin',
    load: () => import('./people/people-page.tsx'),
  },
  {
    path: 'audit',
    title: 'Audit',
    icon: 'audit',
    least: 'admin',
    load: () => import('./audit/audit-page.tsx'),
  },
  {
    path: 'settings',
    title: 'Settings',
    icon: 'settings',
    least: 'admin',
    load: () => import('./settings/settings-page.tsx'),
  },
  {
    path: 'bundle',
    title: 'Export',
    icon: 'copy',
    least: 'admin',
    load: () => import('./bundle/bundle-page.tsx'),
  },
  {
    path: 'get-started',
    title: 'Get started',
    icon: 'start',
    least: 'admin',
    load: () => import('./get-started/get-started-page.tsx'),
  },
]
