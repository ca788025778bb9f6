import {
  ActionParams,
  BatchBody,
  BatchReply,
  CancelReply,
  DryRunBody,
  DryRunReply,
  ExecuteBody,
  ExecuteReply,
  IdempotencyKey,
  StatusReply,
  SubmitBody,
  SubmitReply,
} from '../../../core/wire/v1.ts'
import { agentOf } from '../../http/auth/agent-principal.ts'
import { validationError } from '../../http/input.ts'
import { type Route, type RouteInput, route } from '../../http/route.ts'
import type { Execute, Execution } from './executions/service.ts'
import type { Actions } from './service.ts'
import { idempotentRequest } from './submission/idempotency.ts'

export type ActionRoutesDeps = {
  readonly orgId: string
  readonly actions: Actions
  readonly execute: Execute
}

/**
 * Returns the routes by which agents submit and execute actions (spec 4.3). The reply with a decision has the status
 * 200, even if the decision is a denial.
 */
export function createActionRoutes(deps: ActionRoutesDeps): readonly Route[] {
  return [...submissions(deps), ...later(deps)]
}

function submissions({ orgId, actions }: ActionRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/v1/actions',
      auth: 'agent',
      summary:
        'Submits an action for a decision; if the action is allowed, the reply contains a decision token',
      body: SubmitBody,
      response: SubmitReply,
      statuses: [409],
      handler: async ({ principal, body, raw }) => {
        const { agentId } = agentOf(principal)
        const key = idempotencyKey(raw.request.headers['idempotency-key'])
        return actions.submit({
          agentId,
          spec: body.action_spec,
          webhookUrl: body.webhook_url,
          idempotency: key === null ? undefined : idempotentRequest({ orgId, agentId, key }, body),
        })
      },
    }),
    route({
      method: 'POST',
      path: '/api/v1/actions/batch',
      auth: 'agent',
      summary: 'Submits up to 20 actions; each gets its own decision, and no approvals are opened',
      body: BatchBody,
      response: BatchReply,
      handler: async ({ principal, body }) => {
        const specs = body.actions.map((item) => item.action_spec)
        return actions.submitBatch(agentOf(principal).agentId, specs)
      },
    }),
    route({
      method: 'POST',
      path: '/api/v1/actions/dry-run',
      auth: 'agent',
      summary: 'Returns the decision that an action would get, rule by rule; stores nothing',
      body: DryRunBody,
      response: DryRunReply,
      handler: async ({ principal, body }) => actions.dryRun(agentOf(principal).agentId, body.action_spec),
    }),
  ]
}

function later({ actions, execute }: ActionRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/actions/:actionRequestId',
      auth: 'agent',
      summary: 'Returns the current state of an action, with its token while the token can be used',
      params: ActionParams,
      response: StatusReply,
      statuses: [404],
      handler: async (input) => actions.get(own(input)),
    }),
    route({
      method: 'POST',
      path: '/api/v1/actions/:actionRequestId/execute',
      auth: 'agent',
      summary:
        "Executes an allowed action once through the agent's gateway; returns pending_approval if the gateway requires an approval",
      params: ActionParams,
      body: ExecuteBody,
      response: ExecuteReply,
      statuses: [403, 404, 409, 410, 502, 503, 504],
      handler: async (input) => {
        const agentKey = bearerOf(input.raw.request.headers.authorization)
        const done = await execute(own(input), { token: input.body.decision_token, agentKey })
        return executionReply(input.params.actionRequestId, done)
      },
    }),
    route({
      method: 'POST',
      path: '/api/v1/actions/:actionRequestId/cancel',
      auth: 'agent',
      summary:
        'Cancels an action that is pending or was not executed yet; its decision token becomes invalid',
      params: ActionParams,
      response: CancelReply,
      statuses: [404, 409],
      handler: async (input) => {
        await actions.cancel(own(input))
        return { action_request_id: input.params.actionRequestId, status: 'cancelled' as const }
      },
    }),
  ]
}

function executionReply(action_request_id: string, execution: Execution): ExecuteReply {
  if (execution.kind === 'held') {
    const { status, decision, approval } = execution
    return { executed: false, action_request_id, status, decision, approval }
  }
  const { status, result } = execution
  return { executed: true, action_request_id, gateway_response: { status, result } }
}

/**
 * Returns the bearer token of the header `Authorization`. The route has already authenticated the agent by this token
 * (`auth: 'agent'`).
 */
function bearerOf(authorization: string | undefined): string {
  return authorization?.split(' ')[1] ?? ''
}

function own({
  principal,
  params,
}: Pick<RouteInput<ActionParams, unknown, unknown>, 'principal' | 'params'>) {
  return { agentId: agentOf(principal).agentId, id: params.actionRequestId }
}

function idempotencyKey(header: string | readonly string[] | undefined): string | null {
  if (header === undefined) return null
  const key = IdempotencyKey.safeParse(header)
  if (key.success) return key.data
  throw validationError(['Idempotency-Key: must be a single header of 1 to 255 printable ASCII characters'])
}
