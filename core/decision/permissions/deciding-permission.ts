import type { Action } from '../../action/action.ts'
import { EFFECT_CLASSES } from '../../action/effect-class.ts'
import { effectsOf } from '../../connectors/effects/effects.ts'
import { strictness, type Verdict, verdictOfRule } from '../vocabulary.ts'
import type { PermissionIndex, PermissionMatch } from './permission-index.ts'
import { lookupEffectPermission, lookupPermission } from './permissions.ts'

/**
 * Returns the permission that decides about an action; null if the default decides. Permissions for effect classes
 * (`effect:merge`) apply in addition to the permission for the name, regardless of specificity, and the strictest of
 * them decides. If no name pattern matches, permissions for effect classes allow the action only if each of its effect
 * classes has an allow permission; deny and require_approval always count. If the classes of an action are unknown (see
 * `effectsOf`), permissions for effect classes can only tighten.
 */
export function decidingPermission(
  index: PermissionIndex,
  agent: string,
  { action, defaultVerdict }: { readonly action: Action; readonly defaultVerdict: Verdict },
): PermissionMatch | null {
  const named = lookupPermission(index, agent, action.type)
  if (index.effects.size === 0) return named
  const classes = effectsOf(action)
  const found = (classes ?? EFFECT_CLASSES).map((effect) =>
    lookupEffectPermission(index, agent, { connector: action.connector, effect }),
  )
  const strict = found.filter((match) => match !== null).reduce<PermissionMatch | null>(stricter, null)
  if (strict === null) return named
  if (named !== null) return isStricter(strict, verdictOf(named)) ? strict : named
  const isEveryClass = classes !== null && found.every((match) => match !== null)
  return isEveryClass || isStricter(strict, defaultVerdict) ? strict : null
}

/** Returns the stricter permission; the first one if both are equally strict. */
function stricter(a: PermissionMatch | null, b: PermissionMatch): PermissionMatch {
  return a === null || isStricter(b, verdictOf(a)) ? b : a
}

function isStricter(match: PermissionMatch, than: Verdict): boolean {
  return strictness(verdictOf(match)) > strictness(than)
}

function verdictOf({ decision }: PermissionMatch): Verdict {
  return verdictOfRule(decision)
}
