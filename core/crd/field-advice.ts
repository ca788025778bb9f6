import { nearest } from '../nearest.ts'
import { formerFieldAdvice } from './migration/former-fields.ts'

/**
 * Returns the advice for an unknown field of a manifest: its current spelling if it is a former field, else the
 * nearest of the `known` fields, else all `known` fields.
 */
export function fieldAdvice(
  kind: unknown,
  path: ReadonlyArray<string | number>,
  known: readonly string[],
): string {
  const former = formerFieldAdvice(kind, path)
  if (former !== undefined) return former
  const suggestion = nearest(String(path.at(-1)), known)
  if (suggestion !== undefined) return `did you mean ${suggestion}?`
  return known.length === 0 ? 'remove it' : `remove it, or use one of ${[...new Set(known)].join(', ')}`
}
