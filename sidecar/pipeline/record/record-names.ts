import { canonicalTarget } from '../../../core/connectors/binding/canonical-target.ts'
import type { Named } from '../../../core/connectors/connector.ts'
import { effectDetails, effectNames } from '../../../core/connectors/effects/effects.ts'
import type { Decision } from '../../../core/decision/decision.ts'
import type { RecordAction } from '../../../core/record.ts'
import { recordTarget } from '../../../core/request/redact.ts'
import { storableText } from '../../../core/storable.ts'
import { primaryType } from '../classification/primary-action.ts'
import type { Exchange } from '../exchange.ts'

/** Fields of a record that follow from a classification and the decision about it. */
export type RecordNames = {
  readonly named: Named | undefined
  readonly decision: Decision | undefined
  readonly actionType: string | null
  /** Types of the candidates when the action of the request stayed undetermined; otherwise null. */
  readonly candidates: string[] | null
  readonly actions: string[] | null
  readonly actionCount: number | null
  readonly actionDetails: RecordAction[] | null
  readonly functionTools: number | null
  readonly effects: string[] | null
}

/**
 * Returns the record fields that follow from the classification and the decision of an exchange. Intent and result
 * share them unless the evaluation changed in between. Requests of one connection with the same classification and
 * decision share them too.
 */
export function recordNames(exchange: Exchange): RecordNames {
  const { evaluation, named, decision, template } = exchange
  const known = evaluation.names ?? template?.names ?? null
  if (known !== null && known.named === named && known.decision === decision) return known
  const names: RecordNames = {
    named,
    decision,
    actionType: primaryType(exchange),
    candidates: candidatesOf(named),
    actions: actionNames(named),
    actionCount: named?.kind === 'actions' && named.actions.length > 1 ? named.actions.length : null,
    actionDetails: actionDetails(named),
    functionTools: named?.functionTools ?? null,
    effects: effectsOfRequest(exchange),
  }
  if (named === undefined) return names
  evaluation.names = names
  if (template !== null) template.names = names
  return names
}

function candidatesOf(named: Named | undefined): string[] | null {
  return named?.kind === 'candidates' ? [...new Set(named.candidates.map(({ type }) => type))] : null
}

function effectsOfRequest({ actions }: Exchange): string[] | null {
  const effects = actions === undefined ? [] : effectNames(actions)
  return effects.length === 0 ? null : [...effects]
}

const MAX_NAMES = 64

function actionNames(named: Named | undefined): string[] | null {
  if (named?.kind !== 'actions' || named.actions.length < 2) return null
  return [...new Set(named.actions.map(({ type }) => type))].slice(0, MAX_NAMES)
}

/** Maximum length of a target, as the schema of records permits. */
const MAX_TARGET = 400

function actionDetails(named: Named | undefined): RecordAction[] | null {
  if (named?.kind !== 'actions' || named.actions.length < 2) return null
  return named.actions.slice(0, MAX_NAMES).map((action) => {
    const target = canonicalTarget(action.connector, action.resource)
    const { effect, effects } = effectDetails(action)
    return {
      type: action.type,
      target: target === undefined ? null : storableText(recordTarget(target).slice(0, MAX_TARGET)),
      effect,
      ...(effects === undefined ? {} : { effects: [...effects] }),
    }
  })
}
