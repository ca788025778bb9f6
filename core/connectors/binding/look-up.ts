import type { Action } from '../../action/action.ts'
import type { CanonicalRequest } from '../../request/canonical.ts'
import type { ConnectorConfig, MemberPath } from '../connector.ts'
import type { AgentTriggers } from '../effects/fields/agent-triggers.ts'

/**
 * A read request that the gateway sends to the provider with the connector's credential. The look-up reads a value that
 * a decision or an approval card needs and that the agent's request lacks. The look-up goes to the server (public or
 * self-hosted) that serves the agent's request.
 */
export type LookUp = {
  /** Label value of the metric that counts these look-ups. */
  readonly name: string
  readonly method: 'GET' | 'POST'
  readonly host: string
  /** Path and query of the request (origin-form). */
  readonly target: string
  /** JSON body of a POST. */
  readonly body?: string
  /** Members to read from the JSON response. */
  readonly members: readonly MemberPath[]
  /** Time in ms for which a response is reused; 0 means never. */
  readonly keepMs: number
  /** Path of a member. A response without this member is not reused. */
  readonly keptWith: MemberPath
}

/**
 * Values of `LookUp.members` in order: strings, numbers and booleans unchanged, `true` for an object or a list,
 * undefined for a missing member. Null if there was no response.
 */
export type LookUpValues = readonly (string | number | boolean | undefined)[] | null

export type LookUpAnswer = { readonly lookUp: LookUp; readonly values: LookUpValues }

/** The agent's request that needs a look-up, and the configuration of its Connector. */
export type LookUpPlace = {
  readonly request: CanonicalRequest
  readonly config: ConnectorConfig
  readonly agentTriggers?: AgentTriggers | undefined
}

/** Completes the actions of a connector type with look-ups. */
export type LookUps = {
  /** Returns the look-ups for the values that the action lacks; empty if it lacks none. */
  of(action: Action, place: LookUpPlace): readonly LookUp[]
  /**
   * Returns the action completed with the responses to the look-ups of `of`; null if the responses show that the action
   * does not happen. The result has no `possibleEffects`: responses confirm or exclude them, and without a response
   * they become effect classes of the action.
   */
  complete(action: Action, answers: readonly LookUpAnswer[], place: LookUpPlace): Action | null
}

/** Maximum number of look-ups per request; an action that needs more stays incomplete. */
export const MAX_LOOK_UPS = 8
