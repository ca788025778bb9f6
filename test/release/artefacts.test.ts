import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ownArchitecture } from '../../scripts/release/image-layers.ts'
import { helm, helmProgram } from '../helm/chart.ts'
import { IS_FULL } from '../support/proof.ts'

const ROOT = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'chaperone-artefacts-'))
const out = join(folder, 'release')
const fileOf = (pattern: RegExp) => join(out, readdirSync(out).find((name) => pattern.test(name)) ?? '')
/** A home and a PATH without the checkout. */
const env = { PATH: `${join(process.execPath, '..')}:/usr/bin:/bin`, HOME: join(folder, 'home') }

// By day release.test.ts checks the parts; a whole release takes a minute and downloads packages.
describe.runIf(IS_FULL)('the files of a release', () => {
  beforeAll(() => {
    const args = ['--uncommitted', '--out', out, '--platform', ownArchitecture()]
    execFileSync(process.execPath, [join(ROOT, 'scripts/release.ts'), ...args], { stdio: 'pipe' })
    mkdirSync(env.HOME)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('have the checksums that are listed', () => {
    expect(
      execFileSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: out, encoding: 'utf8' }),
    ).not.toContain('FAILED')
    expect(readdirSync(out)).toHaveLength(6)
  })

  test('the npm package installs globally and starts an installation', async () => {
    const prefix = join(folder, 'global')
    const install = ['install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', fileOf(/\d\.tgz$/)]
    execFileSync('npm', install, { stdio: 'pipe', cwd: folder })
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
    const [layout, root] = [join(folder, 'layout'), join(folder, 'root')]
    for (const path of [layout, root]) mkdirSync(path)
    execFileSync('tar', ['-xf', fileOf(/oci\.tar$/), '-C', layout])
    const blob = (digest: string) => join(layout, 'blobs', digest.replace(':', '/'))
    const read = (path: string) => JSON.parse(readFileSync(path, 'utf8'))
    const [{ digest }] = read(join(layout, 'index.json')).manifests
    const [manifest] = read(blob(digest)).manifests
    for (const layer of read(blob(manifest.digest)).layers)
      execFileSync('tar', ['--xattrs', '--xattrs-include=*', '-xpzf', blob(layer.digest), '-C', root])
    const inside = (...command: string[]) =>
      execFileSync('/usr/sbin/chroot', [root, ...command], { encoding: 'utf8', env: {} })
    expect(inside('/usr/local/bin/node', '/app/bin/cli.js', '--help')).toContain('chaperone COMMAND')
    expect(inside('/usr/local/sbin/nft-cap', '--version')).toContain('nftables')
    expect(inside('/bin/sh', '-c', 'echo one | head -n 1 | tr o O')).toBe('One\n')
    expect(inside('/usr/sbin/iptables-legacy-restore', '--version')).toContain('legacy')
    expect(inside('/usr/sbin/ip6tables-legacy-restore', '--version')).toContain('legacy')
  })

  test.skipIf(helmProgram === null)('the chart renders with the digest in every container', async () => {
    const database = ['--set', 'database.urlSecret.name=database']
    const rendered = await helm('template', 'chaperone', fileOf(/chart.*tgz$/), ...database)
    const images = rendered.match(/^\s*-? ?image: .*$/gm) ?? []
    expect(images.length).toBeGreaterThan(3)
    expect(images.filter((line) => !line.includes('chaperone@sha256:'))).toEqual([])
  })
})
