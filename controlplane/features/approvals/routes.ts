import type * as z from 'zod'
import { ChaperoneError } from '../../../core/errors.ts'
import {
  AnswerBody,
  AnswerReply,
  ApprovalList,
  ApprovalsQuery,
  WithdrawQuery,
  WithdrawReply,
} from '../../../core/wire/approvals.ts'
import { namespacesOf } from '../../http/auth/rights.ts'
import { type Principal, type Route, route } from '../../http/route.ts'
import { actorOf, userIdOf } from '../audit/actor.ts'
import { answererOf } from './answers/answerer.ts'
import { createExceptionRoutes } from './exceptions/routes.ts'
import type { PolicyExceptions } from './exceptions/service.ts'
import type { GrantOfAnswer } from './grants/make-grant.ts'
import { createGrantRoutes } from './grants/routes.ts'
import type { Approvals } from './service.ts'

type Answer = z.output<typeof AnswerBody>

const VIA = { session: 'dashboard', admin_token: 'cli', approver_key: 'api', cluster: 'cli' } as const

export function createApprovalRoutes({
  approvals,
  policyExceptions,
}: {
  readonly approvals: Approvals
  readonly policyExceptions: PolicyExceptions
}): readonly Route[] {
  return [
    ...createGrantRoutes({ approvals }),
    ...createExceptionRoutes({ policyExceptions }),
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
        'Answers an approval. Each user can answer once; the status is `pending` until every required group has answered. Returns 409 if the approval has ended or the user has already answered, and 410 if the approval has expired',
      body: AnswerBody,
      statuses: [410],
      response: AnswerReply,
      handler: async ({ principal, body }) => {
        const user = userOf(principal)
        const { id, status, answeredGroups, grantId, approval } = await approvals.respond({
          id: body.id,
          kinds: ['action', 'hold'],
          approved: body.approved,
          note: body.note ?? null,
          by: answererOf(user),
          via: VIA[user.via],
          grant: await grantOf(user, body),
        })
        return {
          ok: true as const,
          id,
          status,
          ...(status === 'pending' ? { answered_groups: answeredGroups } : {}),
          ...(grantId === undefined ? {} : { grant_id: grantId }),
          ...(approval.card.access_request === true ? { access_request: true as const } : {}),
        }
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/dashboard/proxy-approvals',
      auth: 'approvals/answer',
      isNamespaced: true,
      summary:
        "Withdraws an approval that no gateway has used, with its grant. While other groups must still answer, withdraws the caller's own answer. Returns 409 if it is too late",
      query: WithdrawQuery,
      statuses: [404, 409],
      response: WithdrawReply,
      handler: async ({ principal, namespaces, query: { id } }) => {
        const user = userOf(principal)
        const by = { by: user.email, userId: userIdOf(user), actor: actorOf(user), via: VIA[user.via] }
        return { ok: true as const, id, status: await approvals.withdraw({ id, namespaces, ...by }) }
      },
    }),
  ]
}

type User = Extract<Principal, { kind: 'user' }>

async function grantOf(user: User, { approved, grant }: Answer): Promise<GrantOfAnswer | undefined> {
  if (grant === undefined) return undefined
  if (!approved)
    throw new ChaperoneError('validation', {
      detail: 'grant: a denial cannot make a grant. Remove the field grant, or approve.',
    })
  if (user.via === 'approver_key')
    throw new ChaperoneError('forbidden', {
      detail: 'An approver key answers single requests. Sign in to make a grant.',
    })
  const namespaces = await namespacesOf(user, 'permissions/update', 'cluster')
  return { request: grant, mayWritePermissions: namespaces === 'all' }
}

function userOf(principal: Principal): Extract<Principal, { kind: 'user' }> {
  if (principal.kind === 'user') return principal
  throw new ChaperoneError('unauthorized', { detail: 'This request requires a session.' })
}
