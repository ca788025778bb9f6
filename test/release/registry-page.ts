import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { parse } from 'yaml'
import { ARCHITECTURES } from '../../scripts/release/architecture.ts'
import { helm, helmProgram } from '../helm/chart.ts'
import { hasCommand } from '../support/has-command.ts'
import { startImageRegistry } from '../support/image-registry.ts'
import { pageSnippets, withReaderValues } from '../support/page-snippets.ts'

const run = promisify(execFile)
/** The registry that the pages name in place of the reader's. */
const READERS_REGISTRY = 'registry.example'

/** Whether the programs of the page are installed: skopeo, helm, and a registry (`docker-registry` of Debian). */
export const hasRegistryPrograms =
  helmProgram !== null && hasCommand('skopeo') && hasCommand('docker-registry')

/**
 * Runs the commands of `docs/release.md`, and that of `docs/kubernetes.md` which copies the image, with the files of a release,
 * against a registry of its own. The chart is rendered in place of its installation. Expects that the registry has the image for
 * every architecture under the digest that the chart pins, and that every container of the chart names it by that digest.
 */
export async function expectPageToPublish(release: string, version: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'chaperone-publish-'))
  await using registry = await startImageRegistry()
  try {
    const env = {
      PATH: [dirname(helmProgram ?? ''), process.env['PATH']].join(delimiter),
      HOME: folder,
      SSL_CERT_FILE: registry.caFile,
    }
    const shell = async (commands: string, cwd: string) => {
      const given = ['-euo', 'pipefail', '-c', commands]
      return (await run('bash', given, { cwd, env, maxBuffer: 32 * 1024 * 1024 })).stdout
    }
    const [block = '', ...others] = pageSnippets('release.md', 'sh')
    expect(others).toEqual([])
    const values = { [READERS_REGISTRY]: registry.host, 'helm install': 'helm template' }
    const rendered = await shell(withReaderValues(block, values), release)

    const chart = join(release, `chaperone-chart-${version}.tgz`)
    const { digest } = parse(await helm('show', 'values', chart)).image as { readonly digest: string }
    const stored = await registry.manifest('chaperone', version)
    expect(stored).toMatchObject({
      digest,
      manifest: { manifests: ARCHITECTURES.map((architecture) => ({ platform: { architecture } })) },
    })
    const images = rendered.match(/^\s*-? ?image: .*$/gm) ?? []
    expect(images.length).toBeGreaterThan(3)
    const pinned = `${registry.host}/chaperone@${digest}`
    expect(images.filter((line) => !line.includes(pinned))).toEqual([])

    const copies = pageSnippets('kubernetes.md', 'sh', 'Install').flatMap(
      (text) => text.match(/^skopeo .*$/gm) ?? [],
    )
    expect(copies).toHaveLength(1)
    mkdirSync(join(folder, 'dist'))
    symlinkSync(release, join(folder, 'dist/release'))
    for (const copy of copies)
      await shell(withReaderValues(copy, { [READERS_REGISTRY]: registry.host }), folder)
    expect((await registry.manifest('chaperone', version))?.digest).toBe(digest)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
