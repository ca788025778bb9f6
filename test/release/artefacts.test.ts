import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createInterface } from 'node:readline'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ARCHITECTURES, type Architecture } from '../../scripts/release/architecture.ts'
import { addArchive, type FileTree } from '../../scripts/release/file-tree.ts'
import { ownArchitecture } from '../../scripts/release/image-layers.ts'
import { helm, helmProgram } from '../helm/chart.ts'
import { IS_FULL } from '../support/proof.ts'
import { ELF_MACHINE, readElf } from './elf.ts'
import { expectPageToPublish, hasRegistryPrograms } from './registry-page.ts'

const ROOT = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'chaperone-artefacts-'))
const out = join(folder, 'release')
const layout = join(folder, 'layout')
const fileOf = (pattern: RegExp) => join(out, readdirSync(out).find((name) => pattern.test(name)) ?? '')
const blob = (digest: string) => join(layout, 'blobs', digest.replace(':', '/'))
const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'))

type Manifest = {
  readonly platform: { readonly architecture: string }
  readonly digest: string
}

/** Returns the manifest of the image for an architecture. */
function manifestOf(architecture: Architecture) {
  const [{ digest }] = read(join(layout, 'index.json')).manifests
  const manifests = read(blob(digest)).manifests as readonly Manifest[]
  const found = manifests.find(({ platform }) => platform.architecture === architecture)
  if (found === undefined) throw new Error(`the layout has no image for ${architecture}`)
  return read(blob(found.digest)) as {
    readonly config: { readonly digest: string }
    readonly layers: ReadonlyArray<{ readonly digest: string }>
  }
}

const layersOf = (architecture: Architecture) =>
  manifestOf(architecture).layers.map(({ digest }) => blob(digest))
const configOf = (architecture: Architecture) => read(blob(manifestOf(architecture).config.digest))

/** A home and a PATH without the checkout. */
const env = { PATH: `${join(process.execPath, '..')}:/usr/bin:/bin`, HOME: join(folder, 'home') }

// By day release.test.ts checks the parts; a whole release takes two minutes and downloads packages.
describe.runIf(IS_FULL)('the files of a release', () => {
  beforeAll(() => {
    const args = ['--uncommitted', '--out', out]
    execFileSync(process.execPath, [join(ROOT, 'scripts/release.ts'), ...args], { stdio: 'pipe' })
    mkdirSync(env.HOME)
    mkdirSync(layout)
    execFileSync('tar', ['-xf', fileOf(/oci\.tar$/), '-C', layout])
  }, 600_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('have the checksums that are listed', () => {
    expect(
      execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: out, encoding: 'utf8' }),
    ).not.toContain('FAILED')
    expect(readdirSync(out)).toHaveLength(7)
  })

  test('the npm package installs globally and starts an installation', async () => {
    const prefix = join(folder, 'global')
    const install = ['install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', fileOf(/\d\.tgz$/)]
    execFileSync('npm', install, { stdio: 'pipe', cwd: folder })
    const installed = readdirSync(join(prefix, 'lib/node_modules/chaperone')).toSorted()
    expect(installed.filter((name) => name !== 'node_modules')).toEqual([
      ...['CHANGELOG.md', 'LICENSE', 'README.md', 'THIRD-PARTY-NOTICES.txt', 'bin', 'dashboard', 'docs'],
      'package.json',
    ])
    const program = join(prefix, 'bin/chaperone')
    expect(execFileSync(program, ['--help'], { encoding: 'utf8', env, cwd: folder })).toContain(
      'chaperone COMMAND',
    )
    const ports = ['--port', '0', '--gateway-port', '0']
    const started = spawn(program, ['up', '--json', '--data', join(folder, 'data'), ...ports], {
      env,
      cwd: folder,
    })
    const ended = once(started, 'exit')
    const lines = createInterface({ input: started.stdout })
    const [line] = (await once(lines, 'line')) as [string]
    const { base_url } = JSON.parse(line) as { readonly base_url: string }
    expect((await fetch(`${base_url}/api/health`)).status).toBe(200)
    expect(await (await fetch(base_url)).text()).toContain('<title>')
    started.kill('SIGTERM')
    await ended
  })

  test.skipIf(process.getuid?.() !== 0)('the image has everything that its programs load', () => {
    const root = join(folder, 'root')
    mkdirSync(root)
    for (const layer of layersOf(ownArchitecture()))
      execFileSync('tar', ['--xattrs', '--xattrs-include=*', '-xpzf', layer, '-C', root])
    const inside = (...command: string[]) =>
      execFileSync('/usr/sbin/chroot', [root, ...command], { encoding: 'utf8', env: {} })
    expect(inside('/usr/local/bin/node', '/app/bin/cli.js', '--help')).toContain('chaperone COMMAND')
    expect(inside('/usr/local/sbin/nft-cap', '--version')).toContain('nftables')
    expect(inside('/bin/sh', '-c', 'echo one | head -n 1 | tr o O')).toBe('One\n')
    expect(inside('/usr/sbin/iptables-legacy-restore', '--version')).toContain('legacy')
    expect(inside('/usr/sbin/ip6tables-legacy-restore', '--version')).toContain('legacy')
  })

  // No machine of the tests runs arm64.
  test.each(ARCHITECTURES)(
    'the image for %s has its programs, and every library that they load',
    async (architecture) => {
      const tree: FileTree = new Map()
      let bytes = Buffer.alloc(0)
      for (const layer of layersOf(architecture)) {
        const archive = gunzipSync(readFileSync(layer))
        if (archive.includes(`SCHILY.xattr.security.capability=`)) bytes = archive
        await addArchive(tree, archive, (path) => path)
      }
      const elves = [...tree].flatMap(([path, entry]) => {
        const elf = entry.type === 'file' ? readElf(entry.content) : null
        return elf === null ? [] : [{ path, ...elf }]
      })
      const programs = [
        'bin/busybox',
        'local/bin/node',
        'local/sbin/nft-cap',
        'sbin/nft',
        'sbin/xtables-legacy-multi',
      ]
      expect(elves.map(({ path }) => path)).toEqual(
        expect.arrayContaining(programs.map((path) => `usr/${path}`)),
      )
      const names = new Set([...tree.keys()].map((path) => basename(path)))
      for (const { path, machine, needed } of elves) {
        expect(machine, path).toBe(ELF_MACHINE[architecture])
        expect(
          needed.filter((name) => !names.has(name)),
          path,
        ).toEqual([])
      }
      expect(bytes.length).toBeGreaterThan(0)
      expect([...tree.keys()]).toEqual(expect.arrayContaining(['app/bin/cli.js', 'app/bin/sidecar.cjs']))
      // V8 refuses a code cache of another architecture.
      expect(tree.has('app/bin/sidecar-program.cache')).toBe(architecture === ownArchitecture())
      expect(configOf(architecture)).toMatchObject({
        architecture,
        os: 'linux',
        config: { User: '65532:65532' },
      })
    },
  )

  test.skipIf(helmProgram === null)('the chart renders with the digest in every container', async () => {
    const database = ['--set', 'database.urlSecret.name=database']
    const rendered = await helm('template', 'chaperone', fileOf(/chart.*tgz$/), ...database)
    const images = rendered.match(/^\s*-? ?image: .*$/gm) ?? []
    expect(images.length).toBeGreaterThan(3)
    expect(images.filter((line) => !line.includes('chaperone@sha256:'))).toEqual([])
  })

  test.skipIf(!hasRegistryPrograms)(
    'the commands of docs/release.md publish the image that the chart pins (skopeo, docker-registry)',
    async () => {
      await expectPageToPublish(out, read(join(ROOT, 'package.json')).version)
    },
    180_000,
  )
})
