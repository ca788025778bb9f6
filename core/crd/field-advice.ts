import { nearest } from '../nearest.ts'
import { formerFieldAdvice } from './migration/former-fields.ts'

/**
 * Returns the advice for an unknown field of a manifest: its present spelling, else the nearest of the `known` fields
 * beside it, else all of them.
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
