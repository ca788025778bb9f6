import type { Action } from '../../core/action/action.ts'
import { classify } from '../../core/connectors/classify.ts'
import type { CompiledPolicy } from '../../core/decision/compiled-policy.ts'
import { formatOf } from '../../core/request/body.ts'
import { isRefusal, type Refusal } from '../../core/request/canonical.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import type { Exchange } from './exchange.ts'

const asked = new WeakMap<CompiledPolicy, boolean>()
/** Facts that a body can fill. */
const BODY_FACTS = /\b(parameters|resource)\b/

/** Why a body that cannot be read hides what a policy for one of these actions, or a person, has to know; else null. */
export function judgeHiddenFacts(exchange: Exchange): Refusal | null {
  const { connector, request, body } = exchange
  if (connector === undefined || request === undefined || body.isEmpty || hasReadableBody(exchange))
    return null
  const named = classify(connector, request, { kind: 'opaque' })
  return isRefusal(named) ? named : null
}

/**
 * True when a policy for one of these actions asks for something that only the unread body can tell. Without it such
 * a condition has no value and could only tighten, so a body that can be read has to be.
 */
export function areAskedFor({ policies }: Snapshot, actions: readonly Action[]): boolean {
  return actions.some((action) => policies.matching(action.type).some(looksAtBody))
}

/** A body in a format that has fields: JSON or a form. */
export function hasReadableBody({ request, body }: Exchange): boolean {
  return !body.isEmpty && formatOf(request?.body.mediaType) !== 'opaque'
}

function looksAtBody(policy: CompiledPolicy): boolean {
  const known = asked.get(policy)
  if (known !== undefined) return known
  const looks = policy.rules.some((rule) => rule.conditions.some(({ text }) => BODY_FACTS.test(text)))
  asked.set(policy, looks)
  return looks
}
