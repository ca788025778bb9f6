import type { Role } from '../../../core/wire/access/rights.ts'

export const ROLE_LABELS: ReadonlyArray<{
  readonly value: Role
  readonly label: string
  readonly description: string
}> = [
  { value: 'viewer', label: 'Viewer', description: 'reads overview, traffic and permissions.' },
  { value: 'member', label: 'Member', description: 'also answers approvals and activates the kill switch.' },
  {
    value: 'admin',
    label: 'Admin',
    description:
      'also manages policies, permissions, agents, users and settings, and deactivates the kill switch.',
  },
  { value: 'owner', label: 'Owner', description: 'also appoints owners and imports bundles.' },
]
