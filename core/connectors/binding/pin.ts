import type { Action } from '../../action/action.ts'
import type { LookUp, LookUpPlace } from './look-up.ts'

/** Fixes the state that an action affects, according to the catalogue. */
export type Pin = {
  readonly actionType: string
  /** Name of the state for approvers: `head commit`. */
  readonly state: string
  /** The value in the request, if the request names the state and the provider refuses any other. */
  readonly given?: string
  /**
   * Look-ups of the state; the first with a response wins. Empty if the request gives the state, or it cannot be read.
   */
  readonly reads: readonly LookUp[]
  /** Member of the JSON body in which the API accepts the state. */
  readonly sentAs?: string
  /** The API accepts the state in the input of a mutation; see `Pins.complete`. */
  readonly isInMutation?: true
}

/** Fixes the state behind approvals for a connector type. */
export type Pins = {
  /** Returns the pins of an action; empty if its state cannot be fixed. */
  of(action: Action, place: LookUpPlace): readonly Pin[]
  /**
   * Adds a state to the only mutation of a GraphQL request. Returns null if the request has another form or already names
   * a state.
   */
  complete?(text: string, state: string): { readonly text: string; readonly member: string } | null
  /** Returns the table, for documentation. */
  entries(): readonly PinEntry[]
}

/** `takenAs`: parameters in which the API accepts the state; the provider then refuses any other. */
export type PinEntry = {
  readonly actionType: string
  readonly state: string
  readonly takenAs: readonly string[]
}

/** Maximum number of pins per request; further actions are not fixed. */
export const MAX_PINS = 8
