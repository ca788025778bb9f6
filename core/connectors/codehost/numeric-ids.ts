import type { RowAlias } from '../rows/row-trie.ts'

/**
 * Aliases of rows for addresses with a numeric id in place of a name, such as `/repositories/7/issues` in the
 * provider's pagination links. A request to an alias has the action of the row but no target, because a number does
 * not identify the owner. A policy condition on the target then cannot be evaluated, and can only tighten the
 * decision.
 */
export const NUMERIC_IDS: readonly RowAlias[] = [
  { from: '/repos/{owner}/{repo}', to: '/repositories/{repository_number}' },
  { from: '/orgs/{org}', to: '/organizations/{organization_number}' },
  { from: '/users/{username}', to: '/user/{user_number}', readsOnly: true },
]
