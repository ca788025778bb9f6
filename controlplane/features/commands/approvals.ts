import { ApprovalRespond } from '../../../core/wire/gateway/internal.ts'
import { type CommandDeps, type CommandHandlers, parsed, sessionRequirement } from './context.ts'

const RECENT = 100
const PENDING = 1_000

export function createApprovalCommands({
  approvals,
  isTokenRestricted,
}: CommandDeps): CommandHandlers<'approvals.pending' | 'approvals.recent' | 'approvals.respond'> {
  return {
    'approvals.pending': async ({ gatewayId }) => {
      const page = await approvals.list('all', { gatewayId, kind: 'hold', status: 'pending', limit: PENDING })
      return { approvals: page.approvals.filter((card) => card.status === 'pending') }
    },
    'approvals.recent': async ({ gatewayId }) => {
      const page = await approvals.list('all', { gatewayId, kind: 'hold', limit: RECENT })
      return { approvals: page.approvals }
    },
    'approvals.respond': async ({ gatewayId, name }, input) => {
      const { id, approved, by, note } = parsed(ApprovalRespond, input)
      const requireSession = await sessionRequirement({ isTokenRestricted })
      requireSession('Approvals require')
      const { status, answeredGroups } = await approvals.respond({
        id,
        kinds: ['hold'],
        approved,
        note: note ?? null,
        by: { kind: 'operator', name: by, gatewayId, gateway: name },
        via: 'internal',
      })
      return { ok: true, id, status, ...(status === 'pending' ? { answered_groups: answeredGroups } : {}) }
    },
  }
}
