import * as z from 'zod'
import { RecordSchema } from '../../record.ts'
import { LIMITS } from '../limits.ts'

/**
 * Range of sequence numbers whose records are stored nowhere. Without `reason`, the process, or an earlier one whose
 * journal the uploader recovered, never wrote them. With `reason`, the uploader has them and the control plane never
 * accepts them: `refused` = they belong to another owner, `unreadable` = invalid format. A range with `reason` is no
 * fault of the process.
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
 * Body of a 403 for a batch of records: its processes and agents that belong to another owner, and single records that
 * began after the uploader had ceased to serve their agent. Their records stay refused.
 */
export const RecordsRefusal = z.object({
  refused: z.object({
    process_ids: z.array(z.string()).optional(),
    agents: z.array(z.string()).optional(),
    record_ids: z.array(z.string()).optional(),
  }),
})
/** Ids of records that are stored, also from earlier uploads. The gateway removes them from its journal. */
export const RecordsReply = z.object({ accepted: z.array(z.string()) })

export type LostRange = z.infer<typeof LostRange>
export type RecordsBody = z.infer<typeof RecordsBody>
