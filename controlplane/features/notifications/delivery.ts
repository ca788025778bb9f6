import type { Query } from '../../db/query.ts'
import type { Leased } from './store.ts'

/** What became of one attempt. */
export type Delivery =
  /** `store` runs in the transaction that ends the message. */
  | {
      readonly outcome: 'delivered'
      readonly status: number
      readonly store?: (q: Query) => Promise<void>
    }
  /** There is nothing to tell any more. */
  | { readonly outcome: 'obsolete'; readonly why: string }
  /** The receiver wants no more of it. */
  | { readonly outcome: 'refused'; readonly why: string; readonly status: number }
  | {
      readonly outcome: 'failed'
      readonly why: string
      readonly status: number | null
      /** At least so long until the next attempt. */
      readonly retryAfterS?: number | null
    }
  /** The receiver asks everything of its lane to wait; that is no failed attempt. */
  | { readonly outcome: 'slow_down'; readonly why: string; readonly retryAfterS: number }

/** Makes one attempt. A rejection counts as `failed` with its message. */
export type Deliver = (message: Leased, signal: AbortSignal) => Promise<Delivery>
