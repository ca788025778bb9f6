import * as z from 'zod'
import { ApprovalCard, ApprovalStatus } from './gateway/internal.ts'
import { GrantBody } from './grants.ts'
import { Id, type QueryInput } from './schema/fields.ts'
import { LIMITS } from './schema/limits.ts'

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
  /** Makes a grant for later requests like the approved one. Allowed only with `approved: true`. */
  grant: GrantBody.optional(),
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
  /** Id of the grant that the answer made. */
  grant_id: z.string().optional(),
  /** True for the answer to an access request. Without `grant`, an approval forwards and permits nothing. */
  access_request: z.literal(true).optional(),
})

export const WithdrawQuery = z.strictObject({ id: Id })
export const WithdrawReply = z.object({
  ok: z.literal(true),
  id: z.string(),
  /** `cancelled`, or `pending` if only the user's own answer was withdrawn, and the approval still needs answers. */
  status: ApprovalStatus,
})

export type WithdrawQuery = z.input<typeof WithdrawQuery>
export type WithdrawReply = z.infer<typeof WithdrawReply>
export type ApprovalList = z.infer<typeof ApprovalList>
export type AnswerBody = z.input<typeof AnswerBody>
export type AnswerReply = z.infer<typeof AnswerReply>
export type ApprovalsQuery = QueryInput<typeof ApprovalsQuery>
