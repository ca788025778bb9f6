import type { AgentView } from '../../../../core/wire/agents.ts'
import type { Tone } from '../../components/layout/tone-badge.tsx'

export const AGENT_TONES: Readonly<Record<AgentView['status'], Tone>> = {
  active: 'good',
  suspended: 'wait',
  revoked: 'bad',
}
