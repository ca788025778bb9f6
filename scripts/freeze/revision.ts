import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants } from 'node:zlib'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A commit of this repository, extracted to a temporary folder. Disposing the value removes the folder. */
export type Revision = Disposable & { readonly commit: string; readonly checkout: string }

/** Extracts the files among `paths` that exist in a revision, and installs the packages of its lockfile. */
export function checkOutRevision(revision: string, paths: readonly string[]): Revision {
  const commit = git('rev-parse', '--verify', `${revision}^{commit}`).toString().trim()
  const checkout = mkdtempSync(join(tmpdir(), 'chaperone-freeze-'))
  const existing = git('ls-tree', '--name-only', commit, ...paths)
    .toString()
    .trim()
    .split('\n')
  const archive = git('archive', commit, 'package.json', 'package-lock.json', 'tsconfig.json', ...existing)
  execFileSync('tar', ['-x', '-C', checkout], { input: archive })
  installPackages(checkout)
  return {
    commit,
    checkout,
    [Symbol.dispose]: () => rmSync(checkout, { recursive: true, force: true }),
  }
}

function installPackages(checkout: string): void {
  const lockOf = (place: string) => readFileSync(join(place, 'package-lock.json'), 'utf8')
  if (lockOf(checkout) === lockOf(root))
    symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  else execFileSync('npm', ['ci', '--ignore-scripts', '--omit=optional'], { cwd: checkout, stdio: 'inherit' })
}

function git(...args: string[]): Buffer {
  return execFileSync('git', ['-C', root, ...args], { maxBuffer: 512 * 1024 * 1024 })
}

/** Returns the text as Brotli. The same text gives the same bytes. */
export function compress(text: string): Buffer {
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_PARAM_SIZE_HINT } = constants
  return brotliCompressSync(text, {
    params: {
      [BROTLI_PARAM_QUALITY]: 11,
      [BROTLI_PARAM_LGWIN]: 24,
      [BROTLI_PARAM_SIZE_HINT]: Buffer.byteLength(text),
    },
  })
}
