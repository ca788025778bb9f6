/**
 * Kind of change that an operation causes, independent of its name and of the API. The list is complete for this
 * version.
 */
export const EFFECT_CLASSES = [
  'merge',
  'rewrite_history',
  'publish',
  'code_execution',
  'money_out',
  'delegate',
  'egress',
  'credential_out',
  'visibility',
  'access_grant',
  'delete',
] as const

export type EffectClass = (typeof EFFECT_CLASSES)[number]

/** The meaning of each class, as documentation shows it. */
export const EFFECT_MEANINGS: Readonly<Record<EffectClass, string>> = {
  merge: 'A change reaches a shared branch.',
  rewrite_history: 'Published commits or files can be lost or replaced.',
  publish: 'Content becomes accessible to users who had no access to it.',
  code_execution: 'Programs run, or the request chooses which programs run.',
  money_out: 'Money or credit leaves the account, or a spending limit changes.',
  delegate: 'Another agent gets a task, an answer or an instruction.',
  egress: 'Data is sent to, or fetched from, an address that the request names.',
  credential_out: 'The response contains a secret.',
  visibility: 'The visibility or the security scanning of a resource changes.',
  access_grant: 'A user, key or program gains rights, or a rule that limits them is relaxed.',
  delete: 'Stored data is deleted.',
}

const KNOWN: ReadonlySet<string> = new Set(EFFECT_CLASSES)

export function isEffectClass(text: string): text is EffectClass {
  return KNOWN.has(text)
}

/** Prefix of an effect class in the pattern of a permission: `effect:merge`. */
export const EFFECT_PREFIX = 'effect:'

/** Returns the effect class in the pattern of a permission; null for patterns over action names. */
export function effectOfPattern(pattern: string): string | null {
  return pattern.startsWith(EFFECT_PREFIX) ? pattern.slice(EFFECT_PREFIX.length) : null
}

/** Reports whether the pattern names actions, or an effect class of this version. */
export function isKnownPattern(pattern: string): boolean {
  const effect = effectOfPattern(pattern)
  return effect === null || isEffectClass(effect)
}
