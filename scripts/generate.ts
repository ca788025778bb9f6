import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BUILT_IN, TYPES_WITHOUT_HOSTS } from '../core/connectors/registry.ts'
import { editorSchema } from '../core/crd/editor-schema.ts'
import { effectsPage } from './catalogue/effects-page.ts'
import { heldRequestsPage } from './catalogue/held-requests-page.ts'
import { providerSidePage } from './catalogue/provider-side-page.ts'
import { referenceIndex, referencePage } from './catalogue/reference-page.ts'
import { crdText } from './crds/crd.ts'
import { KINDS } from './crds/kinds.ts'
import { connectorTypesModule } from './dashboard/connector-types-module.ts'
import { effectLabelsModule } from './dashboard/effect-labels-module.ts'
import { limitsPage } from './limits/limits-page.ts'
import { readmeText } from './readme/generated-block.ts'
import { rightsPage } from './rights/rights-page.ts'

/**
 * Writes the generated files: `crds/*.yaml` and the editor's schema from the resource schemas, `docs/actions/*.md` and the
 * connector types of the dashboard from the registry of connectors, `docs/limits.md` from the bounds, `docs/rights.md` from the
 * rights, and the README's table of settings from the configuration. `--check`: writes nothing, lists the files that differ
 * and exits with 1 if there are any. `--out FOLDER`: writes the CRDs only, for inspection.
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const isCheck = process.argv.includes('--check')
const outArgument = process.argv.indexOf('--out')
const out = outArgument === -1 ? undefined : process.argv[outArgument + 1]

/** Folders of the CRDs: in the repository's root, and in the chart. */
const folders = out === undefined ? [join(root, 'crds'), join(root, 'helm/files/crds')] : [out]
const crds = folders.flatMap((folder) =>
  KINDS.map((kind) => [join(folder, `chaperone.dev_${kind.plural}.yaml`), crdText(kind)] as const),
)
/** Folders with generated and hand-written files, in which no file is reported as left over. */
const MIXED: ReadonlySet<string> = new Set([root.replace(/\/$/, ''), join(root, 'docs')])
const wanted = new Map(out === undefined ? [...crds, ...documents(), readme()] : crds)
const stale = [...new Set([...wanted.keys()].map(dirname))]
  .filter((folder) => !MIXED.has(folder))
  .flatMap(leftOver)
const differing = [...wanted].filter(
  ([file, text]) => !existsSync(file) || readFileSync(file, 'utf8') !== text,
)

if (isCheck) {
  for (const [file] of differing) console.error(`${basename(file)} is out of date. Run npm run generate.`)
  for (const file of stale) console.error(`${basename(file)} is no longer generated. Run npm run generate.`)
  process.exitCode = differing.length + stale.length === 0 ? 0 : 1
} else {
  for (const [file, text] of differing) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  for (const file of stale) rmSync(file)
}
console.log(
  `generated files: ${wanted.size}, ${differing.length + stale.length} ${isCheck ? 'differ' : 'written'}`,
)

function documents(): ReadonlyArray<readonly [string, string]> {
  const actions = join(root, 'docs/actions')
  return [
    [join(root, 'docs/schema/manifest.schema.json'), editorSchema()],
    [
      join(root, 'controlplane/dashboard/labels/connector-types.ts'),
      connectorTypesModule(BUILT_IN, TYPES_WITHOUT_HOSTS),
    ],
    [join(root, 'controlplane/dashboard/labels/effect-labels.ts'), effectLabelsModule()],
    [join(root, 'docs/limits.md'), limitsPage()],
    [join(root, 'docs/rights.md'), rightsPage()],
    [join(actions, 'README.md'), referenceIndex(BUILT_IN)],
    [join(actions, 'effects.md'), effectsPage(BUILT_IN)],
    [join(actions, 'provider-side.md'), providerSidePage()],
    [join(actions, 'held-requests.md'), heldRequestsPage(BUILT_IN)],
    ...BUILT_IN.map(
      (connector) => [join(actions, `${connector.name}.md`), referencePage(connector)] as const,
    ),
  ]
}

function readme(): readonly [string, string] {
  const file = join(root, 'README.md')
  return [file, readmeText(readFileSync(file, 'utf8'))]
}

/** Returns the files in a generated folder that are no longer generated. */
function leftOver(folder: string): readonly string[] {
  const present = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []
  return present.filter((file) => /\.(yaml|md|json)$/.test(file) && !wanted.has(file))
}
