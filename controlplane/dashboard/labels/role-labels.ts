import type { Role } from '../../../core/wire/rights.ts'

export const ROLE_LABELS: ReadonlyArray<{
  readonly value: Role
  readonly label: string
  readonly means: string
}> = [
  { value: 'viewer', label: 'Viewer', means: 'looks at overview, traffic and permissions.' },
  { value: 'member', label: 'Member', means: 'answers approvals as well.' },
  { value: 'admin', label: 'Admin', means: 'sets rules, agents, people and the kill switch.' },
  { value: 'owner', label: 'Owner', means: 'also makes owners and imports bundles.' },
]
