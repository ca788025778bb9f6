import { ChaperoneError } from '../../core/errors.ts'
import { ApprovalRespond } from '../../core/wire/internal.ts'
import { type CommandDeps, type CommandHandler, parsed } from './command-context.ts'

const RECENT = 100
const PENDING = 1_000

export function createApprovalCommands({
  approvals,
  isTokenRestricted,
}: CommandDeps): Record<'approvals.pending' | 'approvals.recent' | 'approvals.respond', CommandHandler> {
  return {
    'approvals.pending': async ({ gatewayId }) => {
      const page = await approvals.list({ gatewayId, kind: 'hold', status: 'pending', limit: PENDING })
      return { approvals: page.approvals.filter((card) => card.status === 'pending') }
    },
    'approvals.recent': async ({ gatewayId }) => {
      const page = await approvals.list({ gatewayId, kind: 'hold', limit: RECENT })
      return { approvals: page.approvals }
    },
    'approvals.respond': async ({ gatewayId, name }, input) => {
      const { id, approved, by, note } = parsed(ApprovalRespond, input)
      if (await isTokenRestricted(false)) throw needsSession()
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

/** Every program of the user account can read the token of the internal API. */
function needsSession(): ChaperoneError {
  return new ChaperoneError('forbidden', {
    detail:
      'Approvals require the session of a user here, and the token of the internal API names none. Run chaperone login and chaperone approvals, or use the dashboard. chaperone up --approvals token turns this protection off.',
  })
}
