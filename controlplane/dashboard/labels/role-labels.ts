import type { Role } from '../../../core/wire/access/rights.ts'

export const ROLE_LABELS: ReadonlyArray<{
  readonly value: Role
  readonly label: string
  readonly description: string
}> = [
  { value: 'viewer', label: 'Viewer', description: 'Reads overview, traffic and permissions.' },
  { value: 'member', label: 'Member', description: 'Also answers approvals and activates the kill switch.' },
  {
    value: 'admin',
    label: 'Admin',
    description:
      'Also manages policies, permissions, agents, users and settings, and deactivates the kill switch.',
  },
  {
    value: 'owner',
    label: 'Owner',
    description: 'Also appoints owners and imports bundles of agents and policies.',
  },
]
