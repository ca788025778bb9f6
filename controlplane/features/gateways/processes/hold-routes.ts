import {
  HoldBody,
  HoldParams,
  HoldReply,
  LeaveBody,
  SpendBody,
  SpendReply,
} from '../../../../core/wire/gateway/hold.ts'
import { SYNC_PATHS } from '../../../../core/wire/gateway/sync.ts'
import { Ok } from '../../../../core/wire/schema/fields.ts'
import { type Route, route } from '../../../http/route.ts'
import type { Approvals, HoldHolder } from '../../approvals/service.ts'
import { assertOwn } from '../../pods/assert-own-agents.ts'
import { type GatewayPrincipal, gatewayOf } from './principal.ts'

const HOLD_LIMIT_BYTES = 12 * 1024 * 1024

/**
 * Returns the routes by which gateways request approvals for held requests, use approvals, and report disconnected
 * clients.
 */
export function holds({ approvals }: { readonly approvals: Approvals }): readonly Route[] {
  return [
    route({
      method: 'POST',
      path: SYNC_PATHS.holds,
      auth: 'gateway',
      summary:
        'Holds a request for approval: joins the pending approval of the same request, returns an unused approval, or opens one',
      body: HoldBody,
      bodyLimit: HOLD_LIMIT_BYTES,
      response: HoldReply,
      handler: async ({ principal, body }) => {
        const { gatewayId, name, sidecar } = gatewayOf(principal)
        assertOwn(sidecar, [body.agent])
        const podUid = sidecar?.podUid ?? null
        return approvals.hold({ gatewayId, gatewayName: name, podUid }, body)
      },
    }),
    route({
      method: 'POST',
      path: `${SYNC_PATHS.holds}/:id/spend`,
      auth: 'gateway',
      summary: 'Uses an approval for the request that it was given for; returns true only for the first call',
      params: HoldParams,
      body: SpendBody,
      response: SpendReply,
      handler: async ({ principal, params, body }) =>
        approvals.spend(holderOf(gatewayOf(principal)), params.id, body.binding),
    }),
    route({
      method: 'POST',
      path: `${SYNC_PATHS.holds}/:id/leave`,
      auth: 'gateway',
      summary:
        'Reports that the clients of held requests disconnected: the approval no longer counts against the limit',
      params: HoldParams,
      body: LeaveBody,
      response: Ok,
      handler: async ({ principal, params, body }) => {
        await approvals.leave(holderOf(gatewayOf(principal)), params.id, body)
        return { ok: true as const }
      },
    }),
  ]
}

function holderOf({ gatewayId, sidecar }: GatewayPrincipal): HoldHolder {
  return { gatewayId, agent: sidecar?.agent.name ?? null, podUid: sidecar?.podUid ?? null }
}
