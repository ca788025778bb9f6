import type { Parameters } from '../../../action/action.ts'
import type { EffectClass } from '../../../action/effect-class.ts'

/** Rule by which parameters of a request add effect classes to the classes of the action's name. */
export type FieldRule = {
  /** Action names without the connector prefix; empty for every action of the connector. */
  readonly actions: readonly string[]
  readonly effects: readonly EffectClass[]
  /** A sentence that states when the rule applies, for documentation. */
  readonly reason: string
  readonly applies: (parameters: Parameters) => boolean
}

/** Returns the values of a parameter that may be one value or a list. */
export function valuesOf(value: unknown): readonly unknown[] {
  return value === undefined || value === null ? [] : [value].flat()
}

/** True if one of the fields is present, with any value. */
export function has(parameters: Parameters, ...names: readonly string[]): boolean {
  return names.some((name) => parameters[name] !== undefined)
}
