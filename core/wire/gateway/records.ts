import * as z from 'zod'
import { RecordSchema } from '../../record.ts'
import { LIMITS } from '../limits.ts'

/**
 * First and last sequence number of records that are stored nowhere. Without `reason` the process, or an earlier one
 * that the uploader recovered, never wrote them. With `reason` the uploader has them and the control plane never
 * accepts them: `refused` = they belong to another owner, `unreadable` = invalid format. Such a range does not reflect
 * on the process.
 */
export const LostRange = z
  .object({
    process_id: z.string().max(128),
    from: z.int().nonnegative(),
    to: z.int().nonnegative(),
    reason: z.enum(['refused', 'unreadable']).optional(),
  })
  .refine(({ from, to }) => from <= to, 'from must not exceed to')

export const RecordsBody = z.object({
  records: z.array(RecordSchema).max(1_000),
  lost: z.array(LostRange).max(LIMITS.lostRangesMax).default([]),
})
/**
 * In the body of a 403: the processes and agents of the batch that belong to another owner, and single records that
 * began after the uploader stopped serving their agent. Their records stay refused.
 */
export const RecordsRefusal = z.object({
  refused: z.object({
    process_ids: z.array(z.string()).optional(),
    agents: z.array(z.string()).optional(),
    record_ids: z.array(z.string()).optional(),
  }),
})
/** Ids that are stored now or were stored before; the gateway trims its journal by them. */
export const RecordsReply = z.object({ accepted: z.array(z.string()) })

export type LostRange = z.infer<typeof LostRange>
export type RecordsBody = z.infer<typeof RecordsBody>
