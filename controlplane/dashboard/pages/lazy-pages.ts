import { Page as Agents } from './agents/agents-page.tsx'
import { Page as Audit } from './audit/audit-page.tsx'
import { Page as Bundle } from './bundle/bundle-page.tsx'
import { Page as Connectors } from './connectors/connectors-page.tsx'
import { Page as Explain } from './explain/explain-page.tsx'
import { Page as GetStarted } from './get-started/get-started-page.tsx'
import { Page as Permissions } from './permissions/permissions-page.tsx'
import { Page as Policies } from './policies/policies-page.tsx'
import { Page as Settings } from './settings/settings-page.tsx'
import { Page as Traffic } from './traffic/traffic-page.tsx'
import { Page as Users } from './users/users-page.tsx'

/** Pages in the second chunk, which contains all pages that are not in the first bundle. */
export const LAZY_PAGES = {
  traffic: Traffic,
  explain: Explain,
  policies: Policies,
  permissions: Permissions,
  connectors: Connectors,
  agents: Agents,
  users: Users,
  audit: Audit,
  settings: Settings,
  bundle: Bundle,
  'get-started': GetStarted,
} as const

export type LazyPath = keyof typeof LAZY_PAGES
