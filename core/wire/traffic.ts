import * as z from 'zod'
import { RecordSchema } from '../record.ts'
import { Id, Limit, Moment, type QueryInput } from './schema/fields.ts'

const Text = z.string().min(1).max(300).optional()

export const TrafficQuery = z.strictObject({
  agent: Text,
  /** Pod, Sandbox or claim of the instance, as `namespace/name`. */
  instance: Text,
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
export const TrafficReply = z.object({
  traffic: z.array(RecordSchema),
  next_cursor: z.string().nullable(),
  limit: z.number(),
})
export const RecordParams = z.object({ record_id: Id })
export const RecordReply = z.object({ record: RecordSchema })

export type TrafficReply = z.infer<typeof TrafficReply>
export type RecordParams = z.infer<typeof RecordParams>
export type RecordReply = z.infer<typeof RecordReply>
export type TrafficQuery = QueryInput<typeof TrafficQuery>
