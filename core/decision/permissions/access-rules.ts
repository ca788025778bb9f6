import type { Effect } from '../../action/action.ts'
import { wildcardMayAllow } from '../../action/pattern.ts'
import type { RuleDecision } from '../vocabulary.ts'

/** Access rules that a user can select when creating a gateway (spec 4.1). */
export type AccessRule = 'allow_all' | 'read_only' | 'require_approval' | 'custom'

export type PatternRule = { readonly pattern: string; readonly decision: RuleDecision }

/** Row of a connector's catalogue. Several rows may have the same action type. */
export type CatalogueEntry = { readonly type: string; readonly effect: Effect }

/**
 * Returns the permissions of an access rule. Patterns match names, not effects, so `read_only` and `require_approval`
 * list every read and compute action of the catalogue and cover the rest (including requests without a catalogue row)
 * with `<connector>.*`. `customPatterns` applies to `custom` only.
 */
export function permissionsOfAccessRule(
  connectorType: string,
  accessRule: AccessRule,
  rows: readonly CatalogueEntry[],
  customPatterns: readonly PatternRule[] = [],
): readonly PatternRule[] {
  const everything = `${connectorType}.*`
  switch (accessRule) {
    case 'allow_all':
      return [everything, ...unidentified(connectorType, rows)].map((pattern) => ({
        pattern,
        decision: 'allow',
      }))
    case 'read_only':
      return [...harmless(connectorType, rows), { pattern: everything, decision: 'deny' }]
    case 'require_approval':
      return [...harmless(connectorType, rows), { pattern: everything, decision: 'require_approval' }]
    case 'custom':
      return customPatterns
  }
}

/** Returns the action names that need a permission of their own, because `<connector>.*` does not allow them. */
function unidentified(connectorType: string, rows: readonly CatalogueEntry[]): readonly string[] {
  const types = rows.map(({ type }) => type).filter((type) => !wildcardMayAllow(`${connectorType}.`, type))
  return [...new Set(types)]
}

/**
 * Returns allow permissions for the action names that only read or compute, except the names of requests without a
 * catalogue row. A name with several catalogue rows is excluded if one of the rows is a write.
 */
function harmless(connectorType: string, rows: readonly CatalogueEntry[]): PatternRule[] {
  const types = new Set<string>()
  const writing = new Set<string>()
  for (const { type, effect } of rows) (effect === 'write' ? writing : types).add(type)
  const unmapped = `${connectorType}.unmapped.`
  return [...types]
    .filter((type) => !writing.has(type) && !type.startsWith(unmapped))
    .sort()
    .map((pattern) => ({ pattern, decision: 'allow' }))
}
