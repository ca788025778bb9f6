import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { digest, madeOnce } from './cluster-template.ts'
import { PACKAGE_CACHE } from './package-cache.ts'

/** The newest version of each Node release line that `chaperone run` governs, except the line that runs the tests. */
export const NODE_VERSIONS = ['18.20.8', '20.20.2', '22.23.3'] as const

/** Returns the Node program of a version. npm installs the program once for all tests. */
export function nodeProgram(version: string): string {
  const name = `node-${process.platform}-${process.arch}`
  return join(npmPackages(`${name}@${version}`), name, 'bin/node')
}

/** Returns the `node_modules` folder with the packages. npm installs the packages once for all tests. */
export function npmPackages(...packages: readonly string[]): string {
  const make = (draft: string) => {
    mkdirSync(draft, { recursive: true })
    writeFileSync(join(draft, 'package.json'), '{ "private": true }')
    const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts', '--engine-strict=false']
    execFileSync('npm', ['install', '--prefix', draft, ...quiet, ...packages], {
      stdio: 'ignore',
      cwd: draft,
    })
  }
  return join(madeOnce(`npm-${digest(packages.join())}`, make, PACKAGE_CACHE), 'node_modules')
}
