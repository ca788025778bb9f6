import type { Action } from '../../action/action.ts'
import type { LookUp, LookUpPlace } from './look-up.ts'

/** State of a resource that an approval of the action is bound to, such as the head commit of a pull request. */
export type Pin = {
  readonly actionType: string
  /** Name of the state on the approval card, such as `head commit`. */
  readonly state: string
  /** State in the request, if the request names it and the provider refuses the action in any other state. */
  readonly given?: string
  /**
   * Look-ups that read the state; the first with a response wins. Empty if the request names the state, or if no
   * look-up can read it.
   */
  readonly reads: readonly LookUp[]
  /** Member of the JSON body in which the API accepts the state. */
  readonly sentAs?: string
  /** The API accepts the state in the input of a mutation; see `Pins.complete`. */
  readonly isInMutation?: true
}

/** Determines which state the approvals of a connector type are bound to. */
export type Pins = {
  /** Returns the pins of an action; empty if its state cannot be fixed. */
  of(action: Action, place: LookUpPlace): readonly Pin[]
  /**
   * Adds a state to the only mutation of a GraphQL request. Returns null if the request has another form or already
   * names a state.
   */
  complete?(text: string, state: string): { readonly text: string; readonly member: string } | null
  /** Returns all entries of the table, for documentation. */
  entries(): readonly PinEntry[]
}

/** `takenAs`: parameters in which the API accepts the state; the provider then refuses any other. */
export type PinEntry = {
  readonly actionType: string
  readonly state: string
  readonly takenAs: readonly string[]
}

/** Maximum number of pins per request. Approvals are not bound to the state of further actions. */
export const MAX_PINS = 8
