import * as z from 'zod'
import { EFFECT_CLASSES, EFFECT_PREFIX, effectOfPattern, isEffectClass } from '../action/effect-class.ts'

const text = z
  .string()
  .min(1)
  .max(300)
  .regex(/^[^*\s]*\*?$/, 'may have `*` only at the end')

/** Action pattern in the scope of a policy: dotted segments, with `*` only as the last character. */
export const PatternSchema = text.refine(
  (pattern) => effectOfPattern(pattern) === null,
  'must be a pattern of action names; for an effect class, compare action.effects in a condition',
)

/** Action pattern of a permission: a name, a prefix and `*`, or `effect:CLASS`. */
export const PermissionPatternSchema = text.refine(isPermissionPattern, {
  error: `must have, directly after ${EFFECT_PREFIX}, one of the effect classes ${EFFECT_CLASSES.join(', ')}`,
})

export function isPermissionPattern(pattern: string): boolean {
  const effect = effectOfPattern(pattern)
  return effect === null || isEffectClass(effect)
}
