import type { RowAlias } from '../rows/row-trie.ts'

/**
 * Aliases of rows for addresses with a numeric id instead of a name: the provider's pagination links use
 * `/repositories/7/issues`. The request has the operation's name but no target, because a number does not identify the
 * owner. A condition on the target cannot be evaluated then, and can only tighten.
 */
export const NUMERIC_IDS: readonly RowAlias[] = [
  { from: '/repos/{owner}/{repo}', to: '/repositories/{repository_number}' },
  { from: '/orgs/{org}', to: '/organizations/{organization_number}' },
  { from: '/users/{username}', to: '/user/{user_number}', readsOnly: true },
]
