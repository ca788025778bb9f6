import type { Effect } from '../../action/action.ts'
import { wildcardMayAllow } from '../../action/pattern.ts'
import type { RuleDecision } from '../vocabulary.ts'

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

/** Names that the wildcard does not allow. */
function unidentified(connectorType: string, rows: readonly CatalogueEntry[]): readonly string[] {
  const types = rows.map(({ type }) => type).filter((type) => !wildcardMayAllow(`${connectorType}.`, type))
  return [...new Set(types)]
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
