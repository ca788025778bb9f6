import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'

/**
 * Reports whether the client disconnected from the held request of a pending approval. Older gateways do not report
 * disconnections.
 */
export function hasDisconnected({ status, left_at }: ApprovalCard): boolean {
  return status === 'pending' && left_at !== null && left_at !== undefined
}
