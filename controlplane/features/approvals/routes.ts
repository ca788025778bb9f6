import * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import { ApprovalCard, ApprovalStatus } from '../../../core/wire/gateway/internal.ts'
import { LIMITS } from '../../../core/wire/limits.ts'
import { type Principal, type Route, route } from '../../http/route.ts'
import { answererOf } from './answers/answerer.ts'
import type { Approvals } from './service.ts'

const Query = z.strictObject({
  status: ApprovalStatus.optional(),
  kind: z.enum(['action', 'hold']).optional(),
  limit: z.coerce.number().int().min(1).max(LIMITS.listMax).default(LIMITS.listDefault),
  offset: z.coerce.number().int().min(0).default(0),
})
const List = z.object({ approvals: z.array(ApprovalCard), total: z.number() })
const Answer = z.strictObject({
  id: z.string().min(1).max(100),
  approved: z.boolean(),
  note: z.string().max(2_000).optional(),
})
const VIA = { session: 'dashboard', admin_token: 'cli', approver_key: 'api', cluster: 'cli' } as const
const Answered = z.object({
  ok: z.literal(true),
  id: z.string(),
  status: ApprovalStatus,
  /** Present while other groups have to answer as well. */
  answered_groups: z.array(z.string()).optional(),
})

export function createApprovalRoutes({ approvals }: { readonly approvals: Approvals }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/proxy-approvals',
      auth: 'approvals/get',
      isNamespaced: true,
      summary:
        'Requests and actions that wait or waited for a person, newest first; fewer than `limit` at once when they are large',
      query: Query,
      response: List,
      handler: async ({ namespaces, query }) => approvals.list(namespaces, query),
    }),
    route({
      method: 'POST',
      path: '/api/dashboard/proxy-approvals',
      auth: 'approvals/answer',
      isNamespaced: true,
      summary:
        'Answers an approval, each person once; `pending` until every required group has answered. 409 when it has ended or the person has answered it, 410 when time is over',
      body: Answer,
      statuses: [410],
      response: Answered,
      handler: async ({ principal, body }) => {
        const user = userOf(principal)
        const { id, status, answeredGroups } = await approvals.respond({
          id: body.id,
          kinds: ['action', 'hold'],
          approved: body.approved,
          note: body.note ?? null,
          by: answererOf(user),
          via: VIA[user.via],
        })
        return { ok: true, id, status, ...(status === 'pending' ? { answered_groups: answeredGroups } : {}) }
      },
    }),
  ]
}

function userOf(principal: Principal): Extract<Principal, { kind: 'user' }> {
  if (principal.kind === 'user') return principal
  throw new ChaperoneError('unauthorized', { detail: 'This needs a session' })
}
