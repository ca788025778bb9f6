import type { ApprovalCard } from '../../../../../core/wire/internal.ts'

/** True where no request waits for the answer any more. Gateways of older versions do not report it. */
export function hasDisconnected({ status, left_at }: ApprovalCard): boolean {
  return status === 'pending' && left_at !== null && left_at !== undefined
}
