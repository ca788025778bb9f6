import * as z from 'zod'
import type { QueryInput } from './fields.ts'
import { ApprovalCard, ApprovalStatus } from './gateway/internal.ts'
import { LIMITS } from './limits.ts'

export const ApprovalsQuery = z.strictObject({
  status: ApprovalStatus.optional(),
  kind: z.enum(['action', 'hold']).optional(),
  limit: z.coerce.number().int().min(1).max(LIMITS.listMax).default(LIMITS.listDefault),
  offset: z.coerce.number().int().min(0).default(0),
})
export const ApprovalList = z.object({ approvals: z.array(ApprovalCard), total: z.number() })
export const AnswerBody = z.strictObject({
  id: z.string().min(1).max(100),
  approved: z.boolean(),
  note: z.string().max(2_000).optional(),
})
export const AnswerReply = z.object({
  ok: z.literal(true),
  id: z.string(),
  status: ApprovalStatus,
  /**
   * Approver groups that have answered. Present while the approval is pending because other groups must answer as
   * well.
   */
  answered_groups: z.array(z.string()).optional(),
})

export type ApprovalList = z.infer<typeof ApprovalList>
export type AnswerBody = z.input<typeof AnswerBody>
export type AnswerReply = z.infer<typeof AnswerReply>
export type ApprovalsQuery = QueryInput<typeof ApprovalsQuery>
