import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import { afterAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { chartArchive } from '../../scripts/release/chart-archive.ts'
import { addArchive, addFolder, type FileTree, packTree, textFile } from '../../scripts/release/file-tree.ts'
import { imageLayout, layerOf } from '../../scripts/release/oci-layout.ts'
import { expectPageToPublish, hasRegistryPrograms } from './registry-page.ts'

const ROOT = join(import.meta.dirname, '../..')
const TIME_S = 1_700_000_000
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'chaperone-release-'))
afterAll(() => rmSync(folder, { recursive: true }))

const sha256 = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

async function treeOf(archive: Uint8Array): Promise<FileTree> {
  const tree: FileTree = new Map()
  await addArchive(tree, archive, (path) => path)
  return tree
}

function text(tree: FileTree, path: string): string {
  const entry = tree.get(path)
  if (entry?.type !== 'file') throw new Error(`no file ${path}`)
  return Buffer.from(entry.content).toString('utf8')
}

test('an archive has the folders of its files, and the same bytes for the same files in any order', async () => {
  const files = [
    ['usr/bin/tool', textFile('#!/bin/sh\n', 0o755)],
    ['usr/bin/link', { type: 'symlink', target: 'tool' }],
    ['etc/name', textFile('name')],
  ] as const
  const archive = await packTree(new Map(files), TIME_S)
  expect(archive).toEqual(await packTree(new Map(files.toReversed()), TIME_S))
  const tree = await treeOf(archive)
  expect([...tree.keys()]).toEqual(['etc', 'etc/name', 'usr', 'usr/bin', 'usr/bin/link', 'usr/bin/tool'])
  expect(tree.get('usr/bin/tool')).toMatchObject({ type: 'file', mode: 0o755 })
  expect(tree.get('usr/bin/link')).toEqual({ type: 'symlink', target: 'tool' })
})

test('a capability is an extended attribute of the file', async () => {
  const tree: FileTree = new Map([
    ['nft', { type: 'file', mode: 0o755, content: Buffer.from('nft'), capabilities: '\x01\x00\x00\x02' }],
  ])
  expect((await packTree(tree, TIME_S)).includes('SCHILY.xattr.security.capability=\x01\x00\x00\x02')).toBe(
    true,
  )
})

test('a hard link in an archive becomes a copy, and a device is refused', async () => {
  const linked = pack()
  linked.entry({ name: './a', mode: 0o755 }, 'content')
  linked.entry({ name: './b', type: 'link', linkname: './a' })
  linked.finalize()
  const tree = await treeOf(await buffer(linked))
  expect(text(tree, 'b')).toBe('content')
  const device = pack()
  device.entry({ name: './null', type: 'character-device' })
  device.finalize()
  await expect(treeOf(await buffer(device))).rejects.toThrow('null in the archive is a character-device')
})

test('a folder is packed without its symbolic links, readable by every user', async () => {
  writeFileSync(join(folder, 'secretive'), 'content', { mode: 0o600 })
  symlinkSync('secretive', join(folder, 'link'))
  const tree: FileTree = new Map()
  addFolder(tree, folder, 'app')
  expect(tree.get('app/secretive')).toMatchObject({ mode: 0o644 })
  expect(text(tree, 'app/link')).toBe('content')
})

/** Returns the layout of an image with one file, for both architectures. */
async function smallImage(version: string) {
  const layer = await layerOf('test', new Map([['etc/name', textFile('name')]]), TIME_S)
  const facts = { name: `chaperone:${version}`, timeS: TIME_S, labels: {}, run: { User: '65532' } }
  const images = (['amd64', 'arm64'] as const).map((architecture) => ({ architecture, layers: [layer] }))
  return { layer, ...imageLayout(facts, images) }
}

test('every blob of a layout has the digest and size by which it is named', async () => {
  const { layer, tree, digest } = await smallImage('1.2.3')
  const blob = (name: string) => JSON.parse(text(tree, `blobs/${name.replace(':', '/')}`))
  const { manifests: top } = JSON.parse(text(tree, 'index.json'))
  expect(top).toMatchObject([{ digest, annotations: { 'org.opencontainers.image.ref.name': '1.2.3' } }])
  expect(JSON.parse(text(tree, 'oci-layout'))).toEqual({ imageLayoutVersion: '1.0.0' })
  const { manifests } = blob(digest)
  expect(manifests.map(({ platform }: { platform: unknown }) => platform)).toEqual([
    { architecture: 'amd64', os: 'linux' },
    { architecture: 'arm64', os: 'linux' },
  ])
  const { config, layers } = blob(manifests[0].digest)
  expect(blob(config.digest)).toMatchObject({
    ...{ architecture: 'amd64', os: 'linux', config: { User: '65532' } },
    rootfs: { diff_ids: [sha256(gunzipSync(layer.content))] },
  })
  expect(layers).toEqual([
    {
      mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
      digest: sha256(layer.content),
      size: layer.content.length,
    },
  ])
  for (const [path, entry] of tree)
    if (path.startsWith('blobs/') && entry.type === 'file')
      expect(path).toBe(`blobs/${sha256(entry.content).replace(':', '/')}`)
})

test('the chart names the image by its digest, and has the resources behind the link', async () => {
  const digest = `sha256:${'a'.repeat(64)}`
  const tree = await treeOf(gunzipSync(await chartArchive(join(ROOT, 'helm'), digest, TIME_S)))
  const own = parse(readFileSync(join(ROOT, 'helm/values.yaml'), 'utf8'))
  const values = parse(text(tree, 'chaperone/values.yaml'))
  expect(values).toEqual({ ...own, image: { ...own.image, digest } })
  expect([...tree.keys()].filter((path) => path.startsWith('chaperone/files/crds/')).length).toBeGreaterThan(
    3,
  )
})

// artefacts.test.ts does the same with the files of a whole release.
test.skipIf(!hasRegistryPrograms)(
  'the commands of docs/release.md publish the image that the chart pins (skopeo, docker-registry)',
  async () => {
    const release = join(folder, 'release')
    mkdirSync(release)
    const { tree, digest } = await smallImage(VERSION)
    writeFileSync(join(release, `chaperone-${VERSION}.image.oci.tar`), await packTree(tree, TIME_S))
    const chart = await chartArchive(join(ROOT, 'helm'), digest, TIME_S)
    writeFileSync(join(release, `chaperone-chart-${VERSION}.tgz`), chart)
    await expectPageToPublish(release, VERSION)
  },
)

test('package and chart have one version', () => {
  expect(parse(readFileSync(join(ROOT, 'helm/Chart.yaml'), 'utf8'))).toMatchObject({
    version: VERSION,
    appVersion: VERSION,
  })
})
