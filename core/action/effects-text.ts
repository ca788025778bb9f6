import { EFFECT_MEANINGS, isEffectClass } from './effect-class.ts'

/**
 * Returns a text that explains the effect classes of a request to approvers. Returns null if there are no classes.
 * Approval cards that older versions stored have no classes.
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
