import type { Effect } from '../action/action.ts'
import type { RuleDecision } from './vocabulary.ts'

/** The choices offered when a gateway is built (spec 4.1). */
export type AccessRule = 'allow_all' | 'read_only' | 'require_approval' | 'custom'

export type PatternRule = { readonly pattern: string; readonly decision: RuleDecision }

/** What an access rule needs of the connector's catalogue; `rows` may repeat a type. */
export type CatalogueEntry = { readonly type: string; readonly effect: Effect }

/**
 * The permissions that an access rule stands for. Patterns speak of names, not of effects, so `read_only` and
 * `require_approval` name every reading and computing action of the catalogue and cover the rest (unmapped requests
 * included) with `<connector>.*`. `customPatterns` counts for `custom` only.
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
      return [{ pattern: everything, decision: 'allow' }]
    case 'read_only':
      return [...harmless(connectorType, rows), { pattern: everything, decision: 'deny' }]
    case 'require_approval':
      return [...harmless(connectorType, rows), { pattern: everything, decision: 'require_approval' }]
    case 'custom':
      return customPatterns
  }
}

/** A name counts as harmless only when every row under it is: one name may cover reading and writing operations. */
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
