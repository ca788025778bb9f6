import { matchesPattern, parsePattern } from '../../action/pattern.ts'
import type { NeededAction, TokenNeed } from './token-need.ts'

/** Scopes of OAuth 2.0 for the actions of a pattern. */
export type ScopesOfAction = { readonly actionPattern: string; readonly scopes: readonly string[] }

/**
 * Returns the scopes that these actions need together. If no pattern matches an action, returns the type of that
 * action. The most specific pattern of an action counts: a name before prefixes, a longer prefix before a shorter one.
 */
export function scopeNeed(
  actions: readonly NeededAction[],
  rules: readonly ScopesOfAction[],
): TokenNeed | string {
  const scopes = new Set<string>()
  for (const { type } of actions) {
    const rule = mostSpecific(rules, type)
    if (rule === null) return type
    for (const scope of rule.scopes) scopes.add(scope)
  }
  return { repositories: null, permissions: [...scopes].sort(), readsMore: false }
}

function mostSpecific(rules: readonly ScopesOfAction[], type: string): ScopesOfAction | null {
  const matching = rules
    .map((rule) => ({ rule, pattern: parsePattern(rule.actionPattern) }))
    .filter(({ pattern }) => matchesPattern(pattern, type, 'allow'))
    .toSorted(
      (a, b) =>
        Number(b.pattern.isExact) - Number(a.pattern.isExact) ||
        b.pattern.prefix.length - a.pattern.prefix.length,
    )
  return matching[0]?.rule ?? null
}
