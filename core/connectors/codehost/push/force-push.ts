import type { CatalogueRow } from '../../connector.ts'

/** Action of a reference update that can lose commits, over git, REST or GraphQL. */
export const FORCE_PUSH: CatalogueRow = {
  type: 'codehost.git.force_push',
  effect: 'write',
  risk: 'high',
  hints: { irreversible: true },
  permissions: ['contents:write', 'workflows:write'],
}
