import type { Action } from '../../core/action/action.ts'
import type { Named } from '../../core/connectors/connector.ts'
import type { Handle } from '../../core/connectors/handles/handle.ts'
import { actionsOf } from '../../core/connectors/named-action.ts'
import type { Decision } from '../../core/decision/decision.ts'
import type { HandleOwner } from '../../core/decision/handle-owner.ts'
import type { ProvisionalClassification } from './classification/provisional-classification.ts'
import type { RecordNames } from './record/record-names.ts'

/**
 * Classification of a request, and the decision about it, under one snapshot and one state of its body. Nothing of an
 * evaluation is kept when the request is evaluated again.
 */
export class Evaluation {
  /** Classification by the request line; undefined when the body was needed. */
  provisional: ProvisionalClassification | undefined = undefined
  named: Named | undefined = undefined
  decision: Decision | undefined = undefined
  /** Handles in an uploaded form or file; `unread` if the upload was not read and may name any handle. */
  uploadedHandles: readonly Handle[] | 'unread' | undefined = undefined
  /** Hashes of the provider handles that the request names; `handle` is the strictest owner among them. */
  namedHandles: readonly string[] | undefined = undefined
  handle: HandleOwner | undefined = undefined
  /** Names for the record, which is built twice. */
  names: RecordNames | null = null

  /** All actions in `named` as one list: those that the request performs or may perform. */
  get actions(): readonly Action[] | undefined {
    return this.named === undefined ? undefined : actionsOf(this.named)
  }
}

/** Evaluation of a request before its first one. */
export const NOT_EVALUATED: Evaluation = Object.freeze(new Evaluation())
