import type { ErrorCode } from '../../core/errors.ts'

/** Result of the exchange. The stages set it, and the pipeline writes it to the record at the end. */
export type Outcome = {
  status: number | null
  /** Reason of a refusal; null without a refusal. */
  denyReason: DenyReason | null
  errorCode: ErrorCode | null
  /** Error type of an upstream failure: `401 | 429 | 500 | timeout | connect | tls`. */
  errorType: string | null
  note: string | null
  reason: string | null
  /** Milliseconds for which the request waited for an approver. */
  heldMs: number
  /** True when the upstream returned the injected credential, and the gateway masked it. */
  isEchoMasked: boolean
}

export type DenyReason =
  | 'permission'
  | 'policy'
  | 'policy_invalid'
  | 'kill_switch'
  | 'unknown_host'
  | 'approval_denied'
  | 'approval_expired'
  /** The approved state changed before the request was sent. */
  | 'approval_void'
  | 'ambiguous'
  | 'not_ready'
  | 'rate_limit'
  | 'agent'
  | 'address'
  | 'credential'
