import type { AgentView } from '../../../core/wire/agents.ts'

/** Labels of the status of agents and users. */
export const STATUS_LABELS: Readonly<Record<AgentView['status'], string>> = {
  active: 'Active',
  suspended: 'Suspended',
  revoked: 'Revoked',
}
