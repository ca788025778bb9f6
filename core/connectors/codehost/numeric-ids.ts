import type { RowAlias } from '../rows/row-trie.ts'

/**
 * The same operations under a numeric id instead of a name: `/repositories/7/issues` is where the service's own links
 * to a next page lead. Such a request has the name of its deed but no target, since a number does not say whose it is:
 * a condition on the target then cannot be evaluated, and can only tighten.
 */
export const NUMERIC_IDS: readonly RowAlias[] = [
  { from: '/repos/{owner}/{repo}', to: '/repositories/{repository_number}' },
  { from: '/orgs/{org}', to: '/organizations/{organization_number}' },
  { from: '/users/{username}', to: '/user/{user_number}', readsOnly: true },
]
