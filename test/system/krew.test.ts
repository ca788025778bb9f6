import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'

const ROOT = join(import.meta.dirname, '../..')
const URI = 'https://downloads.example.com/kubectl-chaperone.tar.gz'
const folder = mkdtempSync(join(tmpdir(), 'chaperone-krew-'))
let output = ''

type Platform = {
  readonly uri: string
  readonly sha256: string
  readonly bin: string
  readonly files: ReadonlyArray<{ readonly from: string; readonly to: string }>
}
type Manifest = {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly version: string
    readonly shortDescription: string
    readonly platforms: readonly Platform[]
  }
}

const pack = (out: string) => {
  const script = join(ROOT, 'scripts/krew.ts')
  return execFileSync(process.execPath, [script, '--out', out, '--uri', URI], {
    encoding: 'utf8',
    env: {},
    stdio: 'pipe',
  })
}

beforeAll(() => {
  output = pack(join(folder, 'krew'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const manifest = () => parse(readFileSync(join(folder, 'krew/chaperone.yaml'), 'utf8')) as Manifest

test('the manifest has what krew validates, and the checksum of the archive', () => {
  const { metadata, spec } = manifest()
  const archive = readFileSync(join(folder, 'krew/kubectl-chaperone.tar.gz'))
  const sha256 = createHash('sha256').update(archive).digest('hex')
  expect(metadata.name).toBe('chaperone')
  expect(spec.version).toMatch(/^v\d+\.\d+\.\d+$/)
  expect(spec.shortDescription.length).toBeLessThanOrEqual(50)
  expect(spec.platforms).toHaveLength(2)
  for (const platform of spec.platforms) expect(platform).toMatchObject({ uri: URI, sha256 })
  expect(output).toContain(sha256)
})

test('the unpacked archive runs through a link, as krew installs it, without the checkout', () => {
  // krew unpacks into a folder of the version, and links the program from its folder on the PATH.
  const [store, path] = [join(folder, 'store/chaperone/v0'), join(folder, 'bin')]
  mkdirSync(store, { recursive: true })
  mkdirSync(path)
  execFileSync('tar', ['-xzf', join(folder, 'krew/kubectl-chaperone.tar.gz'), '-C', store])
  const [{ bin } = { bin: '' }] = manifest().spec.platforms
  symlinkSync(join(store, bin), join(path, 'kubectl-chaperone'))
  const run = (...args: string[]) =>
    execFileSync(join(path, 'kubectl-chaperone'), args, {
      ...{ cwd: folder, encoding: 'utf8', stdio: 'pipe' },
      env: { PATH: `${join(process.execPath, '..')}:/usr/bin:/bin`, HOME: folder },
    })
  expect(run('--help')).toContain('kubectl chaperone COMMAND')
  // This command runs in the second program of the archive.
  const manifestFile = join(folder, 'policy.yaml')
  writeFileSync(
    manifestFile,
    'apiVersion: chaperone.dev/v1alpha1\nkind: Policy\nmetadata: { name: p }\nspec: { enabled: false, rules: [] }\n',
  )
  expect(run('migrate', '--stdout', manifestFile)).toContain('mode: disabled')
})
