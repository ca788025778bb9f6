import { ChaperoneError } from '../../../core/errors.ts'
import { AnswerBody, AnswerReply, ApprovalList, ApprovalsQuery } from '../../../core/wire/approvals.ts'
import { type Principal, type Route, route } from '../../http/route.ts'
import { answererOf } from './answers/answerer.ts'
import type { Approvals } from './service.ts'

const VIA = { session: 'dashboard', admin_token: 'cli', approver_key: 'api', cluster: 'cli' } as const

export function createApprovalRoutes({ approvals }: { readonly approvals: Approvals }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/proxy-approvals',
      auth: 'approvals/get',
      isNamespaced: true,
      summary:
        'Lists approvals of requests and actions, newest first; a page has fewer than `limit` approvals when they are large',
      query: ApprovalsQuery,
      response: ApprovalList,
      handler: async ({ namespaces, query }) => approvals.list(namespaces, query),
    }),
    route({
      method: 'POST',
      path: '/api/dashboard/proxy-approvals',
      auth: 'approvals/answer',
      isNamespaced: true,
      summary:
        'Answers an approval, each user once; `pending` until every required group has answered. 409 when it has ended or the user has answered it, 410 when it has expired',
      body: AnswerBody,
      statuses: [410],
      response: AnswerReply,
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
        return {
          ok: true as const,
          id,
          status,
          ...(status === 'pending' ? { answered_groups: answeredGroups } : {}),
        }
      },
    }),
  ]
}

function userOf(principal: Principal): Extract<Principal, { kind: 'user' }> {
  if (principal.kind === 'user') return principal
  throw new ChaperoneError('unauthorized', { detail: 'This requires a session.' })
}
