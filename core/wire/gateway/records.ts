import * as z from 'zod'
import { RecordSchema } from '../../record.ts'
import { LIMITS } from '../limits.ts'

/**
 * Sequence numbers of records that are stored nowhere, first and last. Without `reason` its process, or an earlier one
 * that the uploader recovered, never wrote them. With `reason` the uploader has them and the control plane never takes
 * them: `refused` = they belong to another owner, `unreadable` = their form. Such a range says nothing about the process.
 */
export const LostRange = z
  .object({
    process_id: z.string().max(128),
    from: z.int().nonnegative(),
    to: z.int().nonnegative(),
    reason: z.enum(['refused', 'unreadable']).optional(),
  })
  .refine(({ from, to }) => from <= to, 'from is beyond to')

export const RecordsBody = z.object({
  records: z.array(RecordSchema).max(1_000),
  lost: z.array(LostRange).max(LIMITS.lostRangesMax).default([]),
})
/**
 * In the body of a 403: the processes and agents in the batch that are another owner's, and single records that were begun
 * when the uploader served their agent no more. Their records stay refused.
 */
export const RecordsRefusal = z.object({
  refused: z.object({
    process_ids: z.array(z.string()).optional(),
    agents: z.array(z.string()).optional(),
    record_ids: z.array(z.string()).optional(),
  }),
})
/** Ids stored now or before; the gateway trims its journal by them. */
export const RecordsReply = z.object({ accepted: z.array(z.string()) })

export type LostRange = z.infer<typeof LostRange>
export type RecordsBody = z.infer<typeof RecordsBody>
