import { EFFECT_MEANINGS, isEffectClass } from './effect-class.ts'

/**
 * Returns the explanation of a request's effect classes for approvers. Null if there are no classes, as on approval
 * cards of older versions.
 */
export function effectsText({
  effects = [],
}: {
  readonly effects?: readonly string[] | undefined
}): string | null {
  return effects.length === 0 ? null : effects.map(effectText).join(' ')
}

function effectText(effect: string): string {
  return isEffectClass(effect)
    ? `${effect}: ${EFFECT_MEANINGS[effect]}`
    : 'unknown: This version has no description of the effect class.'
}
