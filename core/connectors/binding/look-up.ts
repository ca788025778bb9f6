import type { Action } from '../../action/action.ts'
import type { CanonicalRequest } from '../../request/canonical.ts'
import type { ConnectorConfig, MemberPath } from '../connector.ts'

/**
 * A read of the provider that the gateway makes with the credential of the connector, because the request does not say
 * what a decision or a card needs. It goes to an instance that serves the request, and changes nothing there.
 */
export type LookUp = {
  /** Label of its counter. */
  readonly name: string
  readonly method: 'GET' | 'POST'
  readonly host: string
  /** Origin-form. */
  readonly target: string
  /** JSON. */
  readonly body?: string
  /** Members of the JSON answer that are read. */
  readonly members: readonly MemberPath[]
  /** How long an answer is used again, in ms; 0: never. */
  readonly keepMs: number
  /** Only an answer that has this member is used again. */
  readonly keptWith: MemberPath
}

/**
 * The values of `members` in their order: strings, numbers and booleans as they are, `true` for an object or a list,
 * undefined for a member that the answer does not have. Null where there was no answer.
 */
export type LookUpValues = readonly (string | number | boolean | undefined)[] | null

export type LookUpAnswer = { readonly lookUp: LookUp; readonly values: LookUpValues }

/** Where the request that needs a look-up went. */
export type LookUpPlace = { readonly request: CanonicalRequest; readonly config: ConnectorConfig }

/** How the actions of a connector type are completed by look-ups. */
export type LookUps = {
  /** What the action does not say; empty for an action that says everything. */
  of(action: Action, place: LookUpPlace): readonly LookUp[]
  /** The action with what the answers say; null where they say that it does not happen. */
  complete(action: Action, answers: readonly LookUpAnswer[]): Action | null
}

/** Most look-ups that one request causes; an action that would need more stays as it is. */
export const MAX_LOOK_UPS = 8
