import type { Parameters } from '../../../action/action.ts'
import type { EffectClass } from '../../../action/effect-class.ts'

/** Effect classes that fields of a request add to those of its name. */
export type FieldRule = {
  /** Without the connector's name; empty for every action of the connector. */
  readonly actions: readonly string[]
  readonly effects: readonly EffectClass[]
  /** A sentence that names the fields, for documentation. */
  readonly reason: string
  readonly applies: (parameters: Parameters) => boolean
}

/** The values of a parameter that may be one value or a list. */
export function valuesOf(value: unknown): readonly unknown[] {
  return value === undefined || value === null ? [] : [value].flat()
}

/** True for a field that is there, whatever it says. */
export function has(parameters: Parameters, ...names: readonly string[]): boolean {
  return names.some((name) => parameters[name] !== undefined)
}
