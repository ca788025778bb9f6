import * as z from 'zod'
import { RecordSchema } from '../../record.ts'
import { LIMITS } from '../schema/limits.ts'
import { openEnum } from '../schema/open-enum.ts'

/**
 * Range of sequence numbers whose records are not stored. Without `reason`, the records were never written, neither by
 * the uploading process nor by an earlier process whose journal the uploader recovered. With `reason`, the uploader has
 * the records, but the control plane never accepts them: `refused` because they belong to another owner, `unreadable`
 * because of an invalid format. A range with `reason` is not a fault of the process.
 */
export const LostRange = z
  .object({
    process_id: z.string().max(128),
    from: z.int().nonnegative(),
    to: z.int().nonnegative(),
    reason: openEnum(['refused', 'unreadable']).optional(),
  })
  .refine(({ from, to }) => from <= to, '"from" must not be greater than "to"')

export const RecordsBody = z.object({
  records: z.array(RecordSchema).max(1_000),
  lost: z.array(LostRange).max(LIMITS.lostRangesMax).default([]),
})
/**
 * Body of a 403 for a batch of records. The body lists processes and agents that belong to another owner, and single
 * records that began after the uploader had ceased to serve their agent. A repeated upload of these records is refused
 * again.
 */
export const RecordsRefusal = z.object({
  refused: z.object({
    process_ids: z.array(z.string()).optional(),
    agents: z.array(z.string()).optional(),
    record_ids: z.array(z.string()).optional(),
  }),
})
/**
 * Ids of records that are stored, including those of earlier uploads. The gateway removes these records from its
 * journal.
 */
export const RecordsReply = z.object({ accepted: z.array(z.string()) })

export type LostRange = z.infer<typeof LostRange>
export type RecordsBody = z.infer<typeof RecordsBody>
