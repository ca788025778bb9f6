import * as z from 'zod'
import { RecordSchema } from '../../../core/record.ts'
import { Limit, Moment } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import type { Traffic } from './service.ts'

const Text = z.string().min(1).max(300).optional()
const TrafficQuery = z.strictObject({
  agent: Text,
  connector: Text,
  decision: z
    .string()
    .toUpperCase()
    .pipe(z.enum(['ALLOW', 'HOLD', 'DENY']))
    .optional(),
  action_type: Text,
  from: Moment.optional(),
  to: Moment.optional(),
  q: Text,
  limit: Limit,
  cursor: z.string().min(1).max(500).optional(),
})

export function createRecordRoutes({ traffic }: { readonly traffic: Traffic }): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/traffic',
      auth: 'records/get',
      isNamespaced: true,
      summary: 'Governed requests, newest first',
      query: TrafficQuery,
      response: z.object({
        traffic: z.array(RecordSchema),
        next_cursor: z.string().nullable(),
        limit: z.number(),
      }),
      handler: async ({ namespaces, query }) => {
        const { limit, cursor, action_type: actionType, ...filter } = query
        return traffic.list(namespaces, { ...filter, actionType }, { limit, cursor })
      },
    }),
  ]
}
