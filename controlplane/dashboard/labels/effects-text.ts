import type { EffectClass } from '../../../core/action/effect-class.ts'
import { EFFECT_LABELS } from './effect-labels.ts'

/**
 * Describes the effect classes of a request. Returns null for a request without effect classes, and for cards of
 * earlier versions.
 */
export function effectsText(effects: readonly string[] = []): string | null {
  return effects.length === 0 ? null : effects.map(effectText).join(' ')
}

function effectText(effect: string): string {
  return Object.hasOwn(EFFECT_LABELS, effect)
    ? `${effect}: ${EFFECT_LABELS[effect as EffectClass]}`
    : 'unknown: The catalogue does not describe the effects of this action.'
}
