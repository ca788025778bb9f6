import type { ApprovalCard } from '../../../../../core/wire/gateway/internal.ts'

/** True if the request behind a pending approval was closed. Older gateways do not report it. */
export function hasDisconnected({ status, left_at }: ApprovalCard): boolean {
  return status === 'pending' && left_at !== null && left_at !== undefined
}
