import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { directImports } from '../dashboard/direct-imports.ts'
import { ENTRY_POINTS, SIDECAR_ENTRY_POINT, UNBUNDLED } from '../entry-points.ts'

/** An npm package whose code is in a bundle. */
export type BundledPackage = {
  readonly name: string
  readonly version: string
  /** Licence of the package as an SPDX expression. */
  readonly license: string
  /** Text of the licence file; null if the package has none. */
  readonly licenseText: string | null
}

const DASHBOARD = ['controlplane/dashboard/app.tsx', 'controlplane/dashboard/styles.css']

/** Returns the npm packages whose code is in the programs and in the dashboard, by name. */
export async function bundledPackages(root: string): Promise<readonly BundledPackage[]> {
  const { metafile } = await build({
    entryPoints: [...Object.values(ENTRY_POINTS), SIDECAR_ENTRY_POINT, ...DASHBOARD],
    absWorkingDir: root,
    outdir: 'unused',
    bundle: true,
    platform: 'node',
    format: 'esm',
    jsx: 'automatic',
    external: UNBUNDLED,
    plugins: [directImports(join(root, 'node_modules'))],
    metafile: true,
    write: false,
    logLevel: 'error',
  })
  const folders = Object.values(metafile.outputs)
    .flatMap(({ inputs }) => Object.keys(inputs))
    .flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [])
  return [...new Set(folders)].sort().map((folder) => readPackage(join(root, folder)))
}

/** Returns the notices that the licences of the bundled packages require. */
export function noticesOf(packages: readonly BundledPackage[]): string {
  const parts = packages.map(({ name, version, license, licenseText }) =>
    [`${name} ${version} (${license})`, '', licenseText?.trim() ?? 'The package has no licence file.'].join(
      '\n',
    ),
  )
  const line = '-'.repeat(72)
  return `The programs contain code of these npm packages.\n\n${line}\n${parts.join(`\n\n${line}\n`)}\n`
}

function readPackage(folder: string): BundledPackage {
  const { name, version, license } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  ) as Readonly<Record<'name' | 'version' | 'license', string>>
  const file = readdirSync(folder).find((entry) => /^(?:licen[cs]e|copying)(?:\.|-|$)/i.test(entry))
  const path = join(folder, file ?? 'LICENSE')
  return { name, version, license, licenseText: existsSync(path) ? readFileSync(path, 'utf8') : null }
}
