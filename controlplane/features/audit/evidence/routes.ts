import { AuditQuery, AuditReply, EvidenceParams, EvidenceReply } from '../../../../core/wire/audit.ts'
import { type Route, route } from '../../../http/route.ts'
import type { Evidence } from './service.ts'

export type EvidenceRoutesDeps = { readonly evidence: Evidence }

export function createEvidenceRoutes({ evidence }: EvidenceRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/audit',
      auth: 'auditevents/get',
      isNamespaced: true,
      summary: 'Lists events of the audit log, newest first',
      query: AuditQuery,
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
      summary: 'Returns the events, approvals and governed requests of one action',
      params: EvidenceParams,
      response: EvidenceReply,
      handler: async ({ namespaces, params }) => evidence.chain(namespaces, params.action_request_id),
    }),
  ]
}
