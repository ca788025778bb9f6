import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COPIED = [
  ...[
    'core',
    'kube',
    'runtime',
    'sidecar',
    'controlplane',
    'operator',
    'scripts',
    'starters',
    'helm',
    'docs',
  ],
  ...['README.md', 'package.json', 'package-lock.json', 'tsconfig.json'],
]

/** A copy of the sources, for a test that changes source files. */
export type Checkout = {
  readonly root: string
  /** Runs a script of the copy with Node. Throws when the script fails. */
  run(script: string, ...args: readonly string[]): string
  remove(): void
}

/**
 * Copies the sources to a temporary folder. The packages are links to those of this checkout. Build output of the copy stays
 * in the copy.
 */
export function copyCheckout(): Checkout {
  const root = mkdtempSync(join(tmpdir(), 'chaperone-checkout-'))
  for (const name of COPIED) cpSync(join(ROOT, name), join(root, name), { recursive: true })
  mkdirSync(join(root, 'node_modules'))
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (name === '.cache') continue
    symlinkSync(join(ROOT, 'node_modules', name), join(root, 'node_modules', name))
  }
  return {
    root,
    run: (script, ...args) =>
      execFileSync(process.execPath, [join(root, script), ...args], { cwd: root, encoding: 'utf8' }),
    remove: () => rmSync(root, { recursive: true, force: true }),
  }
}
