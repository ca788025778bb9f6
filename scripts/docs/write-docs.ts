import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BUILT_IN } from '../../core/connectors/registry.ts'
import { editorSchema } from '../../core/crd/editor-schema.ts'
import { actionsIndex, actionsPage } from './actions-page.ts'
import { effectsPage } from './effects-page.ts'
import { heldRequestsPage } from './held-requests-page.ts'
import { httpApiPages } from './http-api-page.ts'
import { providerSidePage } from './provider-side-page.ts'

/**
 * Writes the documentation to a folder: the pages of `docs/`, the HTTP API, a page for each connector type with its
 * actions, the tables about effect classes, held requests and model providers, and the JSON schema of manifests.
 */
export function writeDocs(root: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  cpSync(join(root, 'docs'), folder, { recursive: true })
  for (const [name, text] of generatedFiles()) {
    const file = join(folder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
}

/** Returns the files that exist only in the built documentation, as paths and texts. */
function generatedFiles(): ReadonlyArray<readonly [path: string, text: string]> {
  return [
    ['schema/manifest.schema.json', editorSchema()],
    ...httpApiPages(),
    ['actions/README.md', actionsIndex(BUILT_IN)],
    ['actions/effects.md', effectsPage(BUILT_IN)],
    ['actions/provider-side.md', providerSidePage()],
    ['actions/held-requests.md', heldRequestsPage(BUILT_IN)],
    ...BUILT_IN.map((connector) => [`actions/${connector.name}.md`, actionsPage(connector)] as const),
  ]
}
