import type { Action } from '../../../core/action/action.ts'
import type { EffectClass } from '../../../core/action/effect-class.ts'
import { classify } from '../../../core/connectors/classify.ts'
import { hasFieldEffects } from '../../../core/connectors/effects/fields/of-fields.ts'
import { lookupEffectPermission } from '../../../core/decision/permissions/permissions.ts'
import { type CompiledPolicy, concerns } from '../../../core/decision/policies/compiled-policy.ts'
import { policyLabel } from '../../../core/decision/policies/rule-label.ts'
import { formatOf } from '../../../core/request/body/body.ts'
import { isRefusal, type Refusal } from '../../../core/request/canonical.ts'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import type { Exchange } from '../exchange.ts'
import type { Governed, HasRequest } from '../phases.ts'

const asked = new WeakMap<CompiledPolicy, boolean>()
/** Matches expressions in policy conditions whose value may come from the body. */
const BODY_FACTS =
  /\b(parameters|resource)\b|\brequest\b(?!\.(?:method|host|path|raw_path|segments|query|headers)\b)/

/** Returns a refusal when an unreadable body hides facts that a policy or an approver needs; otherwise null. */
export function judgeHiddenFacts(exchange: Governed): Refusal | null {
  const { connector, request, body } = exchange
  if (body.isEmpty || hasReadableBody(exchange)) return null
  const named = classify(connector, request, { kind: 'opaque' })
  return isRefusal(named) ? named : null
}

/**
 * An action with a fact that only the unread body contains, and the policy that needs the fact. `policy` is null when a
 * permission by effect class needs the fact.
 */
export type BodyQuestion = { readonly policy: CompiledPolicy | null; readonly action: Action }

const NO_QUESTIONS: readonly BodyQuestion[] = []

/**
 * Returns, for these actions, the policies and permissions that need facts of the body. The result does not depend on
 * the agent.
 */
export function bodyQuestions(
  { policies, permissions }: Snapshot,
  actions: readonly Action[],
): readonly BodyQuestion[] {
  const questions = actions.flatMap((action) => {
    const hasEffects = hasFieldEffects(action.type)
    const asking = policies
      .matching(action.type)
      .filter((policy) => looksAtBody(policy) || (hasEffects && looksAtEffects(policy)))
    const byPermission = hasEffects && permissions.effects.size > 0 ? [{ policy: null, action }] : []
    return [...asking.map((policy) => ({ policy, action })), ...byPermission]
  })
  return questions.length === 0 ? NO_QUESTIONS : questions
}

/**
 * Returns true when one of the questions (facts that only the body contains) concerns the agent and connector of this
 * exchange. A readable body must then be read: without the fact the condition has no value, and can only make the
 * decision stricter.
 */
export function areAskedFor(questions: readonly BodyQuestion[], exchange: Governed): boolean {
  return questions.length > 0 && questions.some(isAskedBy(exchange))
}

/**
 * Returns true when a policy condition or a permission for the agent of this exchange depends on one of these effect
 * classes.
 */
function dependsOnEffects(
  exchange: Governed,
  actions: readonly Action[],
  effects: readonly EffectClass[],
): boolean {
  const { snapshot, agent } = exchange
  const isAsked = isAskedBy(exchange)
  return actions.some((action) => {
    const { connector, type } = action
    return (
      effects.some(
        (effect) => lookupEffectPermission(snapshot.permissions, agent.name, { connector, effect }) !== null,
      ) ||
      snapshot.policies.matching(type).some((policy) => looksAtEffects(policy) && isAsked({ policy, action }))
    )
  })
}

/**
 * Returns true when the trees of a push must be read: a rule depends on the effect classes that they show, or the push
 * is sent with a narrowed token, which gets the permission for workflows only if the push changes workflows.
 */
export function needsTrees(
  exchange: Governed,
  actions: readonly Action[],
  effects: readonly EffectClass[],
): boolean {
  const isNarrowed = exchange.connector.entry.minted?.narrow === true
  return isNarrowed || dependsOnEffects(exchange, actions, effects)
}

/** Returns true when a policy condition or a permission reads the effect classes of these actions. */
export function areEffectsRead({ snapshot }: Governed, actions: readonly Action[]): boolean {
  if (snapshot.permissions.effects.size > 0) return true
  return actions.some(({ type }) => snapshot.policies.matching(type).some(looksAtEffects))
}

/** Returns the labels of the policies that need body facts of this exchange. */
export function askingPolicies(questions: readonly BodyQuestion[], exchange: Governed): readonly string[] {
  const asking = questions.filter(isAskedBy(exchange))
  return [...new Set(asking.flatMap(({ policy }) => (policy === null ? [] : [labelOf(policy)])))]
}

function labelOf({ name, tier }: CompiledPolicy): string {
  return policyLabel(tier === 'platform' ? { policyName: name, tier } : { policyName: name })
}

function isAskedBy({ agent, connector, snapshot }: Governed): (question: BodyQuestion) => boolean {
  const common = {
    agent,
    connector: { name: connector.entry.name, type: connector.connector.name },
    gateway: snapshot.gateway,
  }
  return ({ policy, action }) => policy === null || concerns(policy, { ...common, action })
}

/** Returns true for a body in a format with fields: JSON or a form. */
export function hasReadableBody({ request, body }: Exchange & HasRequest): boolean {
  return !body.isEmpty && formatOf(request.body.mediaType) !== 'opaque'
}

function looksAtEffects({ rules }: CompiledPolicy): boolean {
  return rules.some(({ conditions }) => conditions.some(({ text }) => EFFECTS.test(text)))
}

/** Matches the member `effects` in every notation, for example also `action["effects"]`. */
const EFFECTS = /\beffects\b/

function looksAtBody(policy: CompiledPolicy): boolean {
  const known = asked.get(policy)
  if (known !== undefined) return known
  const looks = policy.rules.some((rule) => rule.conditions.some(({ text }) => BODY_FACTS.test(text)))
  asked.set(policy, looks)
  return looks
}
