import { RespondBody, RespondParams, RespondReply } from '../../../core/wire/v1.ts'
import { type Principal, type Route, route } from '../../http/route.ts'
import type { Actions } from '../actions/service.ts'
import { answererOf } from './answers/answerer.ts'
import type { Approvals } from './service.ts'

const VIA = { session: 'api', admin_token: 'cli', approver_key: 'api', cluster: 'cli' } as const

type ApprovalV1RoutesDeps = { readonly approvals: Approvals; readonly actions: Pick<Actions, 'tokenOf'> }

/** Returns the route of the v1 API by which an approver answers the approval of an action. */
export function createApprovalV1Routes(deps: ApprovalV1RoutesDeps): readonly Route[] {
  return [respond(deps)]
}

function respond({ approvals, actions }: ApprovalV1RoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/v1/approvals/:approvalId/respond',
    auth: 'approvals/answer',
    isNamespaced: true,
    summary:
      'Answers the approval of an action. Each user can answer once; the status is `pending` until every required group has answered. Returns 409 if the approval has ended or the user has already answered, and 410 if the approval has expired',
    params: RespondParams,
    body: RespondBody,
    response: RespondReply,
    statuses: [403, 404, 409, 410],
    handler: async ({ principal, params, body }) => {
      const user = userOf(principal)
      const { id, status, approval, answeredGroups } = await approvals.respond({
        id: params.approvalId,
        kinds: ['action'],
        approved: body.decision === 'approve',
        note: body.reason ?? null,
        by: answererOf(user),
        via: VIA[user.via],
      })
      const token = approval.actId === null ? null : await actions.tokenOf(approval.actId)
      const partial = status === 'pending' ? { answered_groups: answeredGroups } : {}
      return { approval_id: id, status, decision_token: token, ...partial }
    },
  })
}

function userOf(principal: Principal): Extract<Principal, { kind: 'user' }> {
  if (principal.kind === 'user') return principal
  throw new Error('an approver is a user')
}
