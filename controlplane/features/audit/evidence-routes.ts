import * as z from 'zod'
import { AuditReply, EvidenceReply } from '../../../core/wire/governance.ts'
import { AuditFilterFields, Id, Limit } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import type { Evidence } from './evidence.ts'

export type EvidenceRoutesDeps = { readonly evidence: Evidence }

const { type: _asEventType, ...Filter } = AuditFilterFields
const Query = z.strictObject({ ...Filter, limit: Limit, cursor: z.string().min(1).max(20).optional() })

export function createEvidenceRoutes({ evidence }: EvidenceRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/audit',
      auth: 'auditevents/get',
      isNamespaced: true,
      summary: 'Events of the audit log, newest first',
      query: Query,
      response: AuditReply,
      handler: async ({ namespaces, query }) => {
        const { limit, cursor, event_type: eventType, agent_id: agentId, ...rest } = query
        const { action_request_id: actionRequestId, ...texts } = rest
        return evidence.search(
          namespaces,
          { ...texts, eventType, agentId, actionRequestId },
          { limit, cursor },
        )
      },
    }),
    route({
      method: 'GET',
      path: '/api/dashboard/evidence/:action_request_id',
      auth: 'auditevents/get',
      isNamespaced: true,
      summary: 'Everything that is known of one action: events, approvals, governed requests',
      params: z.object({ action_request_id: Id }),
      response: EvidenceReply,
      handler: async ({ namespaces, params }) => evidence.chain(namespaces, params.action_request_id),
    }),
  ]
}
