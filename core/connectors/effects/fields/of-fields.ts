import type { Action } from '../../../action/action.ts'
import type { EffectClass } from '../../../action/effect-class.ts'
import { CHAT_FIELDS } from './chat.ts'
import { CODEHOST_FIELDS } from './codehost.ts'
import type { FieldRule } from './field-rule.ts'
import { PAYMENTS_FIELDS } from './payments.ts'

const RULES: ReadonlyMap<string, readonly FieldRule[]> = new Map([
  ['codehost', CODEHOST_FIELDS],
  ['chat', CHAT_FIELDS],
  ['payments', PAYMENTS_FIELDS],
])

/** Returns the field rules of a connector type, for documentation; empty for types without rules. */
export function fieldRules(connectorType: string): readonly FieldRule[] {
  return RULES.get(connectorType) ?? NONE
}

/** Returns the effect classes that the parameters of an action add to those of its name. */
export function effectsOfFields({
  type,
  parameters,
}: Pick<Action, 'type' | 'parameters'>): readonly EffectClass[] {
  const rules = rulesFor(type)
  return rules.length === 0
    ? NONE
    : rules.flatMap(({ effects, applies }) => (applies(parameters) ? effects : []))
}

/** True if fields of the body can add effect classes to those that the action name implies. */
export function hasFieldEffects(type: string): boolean {
  return rulesFor(type).length > 0
}

function rulesFor(type: string): readonly FieldRule[] {
  const dot = type.indexOf('.')
  const rules = RULES.get(type.slice(0, Math.max(0, dot)))
  if (rules === undefined) return NONE
  const name = type.slice(dot + 1)
  return rules.filter(({ actions }) => actions.length === 0 || actions.includes(name))
}

const NONE: readonly never[] = Object.freeze([])
