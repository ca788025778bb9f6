import type { CatalogueRow } from '../../connector.ts'

/** An update of a reference that can lose commits, over any API. */
export const FORCE_PUSH: CatalogueRow = {
  type: 'codehost.git.force_push',
  effect: 'write',
  risk: 'high',
  hints: { irreversible: true },
}
