import type { Action } from '../../action/action.ts'
import type { LookUp, LookUpPlace } from './look-up.ts'

/** What fixes the state that an action acts upon, as the catalogue says it. */
export type Pin = {
  readonly actionType: string
  /** What the state is, for people: `head commit`. */
  readonly state: string
  /** The request itself names the state, and the provider refuses any other. */
  readonly given?: string
  /** Reads the state; the first that has an answer counts. Empty where the request gives it, or it cannot be read. */
  readonly reads: readonly LookUp[]
  /** Member of the JSON body in which the API takes the state. */
  readonly sentAs?: string
}

/** How a connector type fixes the state behind an approval. */
export type Pins = {
  /** The pins of an action; empty where nothing fixes its state. */
  of(action: Action, place: LookUpPlace): readonly Pin[]
  /** The table, for documentation. */
  entries(): readonly PinEntry[]
}

/** `takenAs`: parameters in which the API takes the state; the provider then refuses any other. */
export type PinEntry = {
  readonly actionType: string
  readonly state: string
  readonly takenAs: readonly string[]
}

/** Most pins of one request; actions beyond them are not fixed. */
export const MAX_PINS = 8
