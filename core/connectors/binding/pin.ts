import type { Action } from '../../action/action.ts'
import type { LookUp, LookUpPlace } from './look-up.ts'

/** State of a resource that an approval of the action is bound to, such as the head commit of a pull request. */
export type Pin = {
  readonly actionType: string
  /** Name of the state on the approval card, such as `head commit`. */
  readonly state: string
  /** State that the request itself names. Present only if the provider refuses the action in any other state. */
  readonly given?: string
  /**
   * Look-ups that read the state; the first with a response wins. Empty if the request names the state, or if no
   * look-up can read it.
   */
  readonly reads: readonly LookUp[]
  /** Member of the JSON body in which the API accepts the state. */
  readonly sentAs?: string
  /** True if the API accepts the state in the input of a GraphQL mutation (see `Pins.complete`). */
  readonly isInMutation?: true
}

/** Determines the resource states that approvals of one connector type are bound to. */
export type Pins = {
  /** Returns the pins of an action; empty if its approval is bound to no resource state. */
  of(action: Action, place: LookUpPlace): readonly Pin[]
  /**
   * Adds a state to the input of the only mutation of a GraphQL request. Returns null if the request has another form
   * or already names a state.
   */
  complete?(text: string, state: string): { readonly text: string; readonly member: string } | null
  /** Returns the pins of all action types, for documentation. */
  entries(): readonly PinEntry[]
}

/**
 * The pin of an action type, for documentation. `takenAs`: parameters in which the API accepts the state; the provider
 * then refuses the action in any other state.
 */
export type PinEntry = {
  readonly actionType: string
  readonly state: string
  readonly takenAs: readonly string[]
}

/**
 * Maximum number of pins per request. If the actions of a request have more pins, its approval is not bound to the
 * states of the pins beyond this number.
 */
export const MAX_PINS = 8
