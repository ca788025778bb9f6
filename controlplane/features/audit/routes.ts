import { Readable } from 'node:stream'
import { AuditExportQuery } from '../../../core/wire/audit.ts'
import { type Route, route } from '../../http/route.ts'
import type { AuditExport } from './export/service.ts'

export function createAuditRoutes({ auditExport }: { readonly auditExport: AuditExport }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/audit-export',
      auth: 'auditevents/get',
      isNamespaced: true,
      summary: 'Exports the audit log as CSV, oldest first',
      query: AuditExportQuery,
      produces: 'text/csv',
      handler: async ({ namespaces, query, raw }) => {
        const { type, event_type: eventType = type, agent_id: agentId, ...rest } = query
        const { action_request_id: actionRequestId, ...texts } = rest
        const lines = auditExport.csv(namespaces, { ...texts, eventType, agentId, actionRequestId })
        void raw.reply
          .header('content-type', 'text/csv; charset=utf-8')
          .header('content-disposition', 'attachment; filename="audit-events.csv"')
          .send(Readable.from(lines))
      },
    }),
  ]
}
