import type { Query } from '../../db/query.ts'
import type { Leased } from './store.ts'

/** Result of one delivery attempt. */
export type Delivery =
  /** The receiver accepted the message. `store` runs in the transaction that completes the message. */
  | {
      readonly outcome: 'delivered'
      readonly status: number
      readonly store?: (q: Query) => Promise<void>
    }
  /** The delivery is no longer needed, for example because the setting of the receiver was removed. */
  | { readonly outcome: 'obsolete'; readonly why: string }
  /** The receiver refused the message permanently; no further attempt follows. */
  | { readonly outcome: 'refused'; readonly why: string; readonly status: number }
  | {
      readonly outcome: 'failed'
      readonly why: string
      readonly status: number | null
      /** Minimum wait until the next attempt, in seconds. */
      readonly retryAfterS?: number | null
    }
  /** The receiver limits the rate. The attempt does not count as failed. */
  | { readonly outcome: 'slow_down'; readonly why: string; readonly retryAfterS: number }

/** Makes one delivery attempt. A rejection counts as the outcome `failed`, with the error message as its reason. */
export type Deliver = (message: Leased, signal: AbortSignal) => Promise<Delivery>
