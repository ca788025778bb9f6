import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BUILT_IN, TYPES_WITHOUT_HOSTS } from '../core/connectors/registry.ts'
import { conditionsPage } from './conditions/conditions-page.ts'
import { crdText } from './crds/crd.ts'
import { KINDS } from './crds/kinds.ts'
import { connectorTypesModule } from './dashboard/connector-types-module.ts'
import { effectLabelsModule } from './dashboard/effect-labels-module.ts'
import { policyLanguageModule } from './dashboard/policy-language-module.ts'
import { limitsPage } from './limits/limits-page.ts'
import { metricsPage } from './metrics/metrics-page.ts'
import { referencePage } from './reference/reference-page.ts'
import { rightsPage } from './rights/rights-page.ts'

/**
 * Writes the generated files:
 * - `crds/*.yaml` from the resource schemas
 * - `docs/reference.md` from the resource schemas and the settings of the programs
 * - `docs/conditions.md` and the completion of the dashboard's policy editor from the CEL environment
 * - `docs/limits.md` from the bounds, `docs/rights.md` from the rights, `docs/metrics.md` from the metrics and alerts
 * - the dashboard's labels of connector types and effect classes
 *
 * `--check`: writes nothing, lists the files that differ, and exits with 1 if any file differs. `--out FOLDER`: writes
 * only the CRDs, to this folder, for inspection.
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const isCheck = process.argv.includes('--check')
const outArgument = process.argv.indexOf('--out')
const out = outArgument === -1 ? undefined : process.argv[outArgument + 1]

/** `helm/files/crds` is a symbolic link to `crds`, which Helm follows. */
const crds = KINDS.map(
  (kind) => [join(out ?? join(root, 'crds'), `chaperone.dev_${kind.plural}.yaml`), crdText(kind)] as const,
)
/** Folder with generated and hand-written files. The check for left-over generated files skips this folder. */
const MIXED = join(root, 'docs')
const wanted = new Map(out === undefined ? [...crds, ...(await documents())] : crds)
const stale = [...new Set([...wanted.keys()].map(dirname))]
  .filter((folder) => folder !== MIXED)
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

async function documents(): Promise<ReadonlyArray<readonly [string, string]>> {
  return [
    [
      join(root, 'controlplane/dashboard/labels/connector-types.ts'),
      connectorTypesModule(BUILT_IN, TYPES_WITHOUT_HOSTS),
    ],
    [join(root, 'controlplane/dashboard/labels/effect-labels.ts'), effectLabelsModule()],
    [
      join(root, 'controlplane/dashboard/pages/policies/completion/policy-language.ts'),
      policyLanguageModule(),
    ],
    [join(root, 'docs/conditions.md'), conditionsPage()],
    [join(root, 'docs/limits.md'), limitsPage()],
    [join(root, 'docs/metrics.md'), await metricsPage()],
    [join(root, 'docs/reference.md'), referencePage()],
    [join(root, 'docs/rights.md'), rightsPage()],
  ]
}

/** Returns the files in a generated folder that this script did not generate. */
function leftOver(folder: string): readonly string[] {
  const present = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []
  return present.filter((file) => /\.(yaml|md|json)$/.test(file) && !wanted.has(file))
}
