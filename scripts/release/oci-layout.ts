import { sha256Hex } from '../../runtime/sha256.ts'
import type { Architecture } from './architecture.ts'
import { type FileTree, gzip, packTree, textFile } from './file-tree.ts'

/** Media types of the OCI image format specification 1.1. */
const MEDIA = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
} as const

type Descriptor = { readonly mediaType: string; readonly digest: string; readonly size: number }

/** A compressed layer of the image. */
export type Layer = {
  readonly createdBy: string
  /** Digest of the layer before compression. The configuration of the image names the layer by this digest. */
  readonly diffId: string
  readonly content: Buffer
}

export type PlatformImage = { readonly architecture: Architecture; readonly layers: readonly Layer[] }

export type ImageFacts = {
  /** Repository and tag, such as `chaperone:0.1.0`. */
  readonly name: string
  /** Unix time in seconds. */
  readonly timeS: number
  readonly labels: Readonly<Record<string, string>>
  /** Fields of `config` in the configuration of the image: user, entry point, environment variables. */
  readonly run: Readonly<Record<string, unknown>>
}

/** Returns a layer with the files of a tree. `timeS`: Unix time of all files. */
export async function layerOf(createdBy: string, tree: FileTree, timeS: number): Promise<Layer> {
  const plain = await packTree(tree, timeS)
  return { createdBy, diffId: digestOf(plain), content: await gzip(plain) }
}

/**
 * Returns an OCI image layout (OCI image format 1.1, `image-layout.md`) with one image index, and the digest of that
 * index. Registries and pods name the image by this digest.
 */
export function imageLayout(
  facts: ImageFacts,
  images: readonly PlatformImage[],
): { readonly tree: FileTree; readonly digest: string } {
  const tree: FileTree = new Map()
  const manifests = images.map((image) => addImage(tree, facts, image))
  const index = addJson(tree, MEDIA.index, {
    schemaVersion: 2,
    mediaType: MEDIA.index,
    manifests,
    annotations: facts.labels,
  })
  const [, tag = ''] = facts.name.split(':')
  const annotations = {
    'org.opencontainers.image.ref.name': tag,
    'io.containerd.image.name': `docker.io/library/${facts.name}`,
  }
  tree.set('oci-layout', textFile('{"imageLayoutVersion":"1.0.0"}\n'))
  tree.set(
    'index.json',
    textFile(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: MEDIA.index,
        manifests: [{ ...index, annotations }],
      }),
    ),
  )
  return { tree, digest: index.digest }
}

function addImage(tree: FileTree, facts: ImageFacts, image: PlatformImage) {
  const created = new Date(facts.timeS * 1000).toISOString()
  const platform = { architecture: image.architecture, os: 'linux' }
  const layers = image.layers.map(({ content }) => addBlob(tree, MEDIA.layer, content))
  const config = addJson(tree, MEDIA.config, {
    created,
    ...platform,
    config: { ...facts.run, Labels: facts.labels },
    rootfs: { type: 'layers', diff_ids: image.layers.map(({ diffId }) => diffId) },
    history: image.layers.map(({ createdBy }) => ({ created, created_by: createdBy })),
  })
  const manifest = { schemaVersion: 2, mediaType: MEDIA.manifest, config, layers }
  return { ...addJson(tree, MEDIA.manifest, manifest), platform }
}

function addJson(tree: FileTree, mediaType: string, value: object): Descriptor {
  return addBlob(tree, mediaType, Buffer.from(JSON.stringify(value)))
}

function addBlob(tree: FileTree, mediaType: string, content: Buffer): Descriptor {
  const digest = digestOf(content)
  tree.set(`blobs/${digest.replace(':', '/')}`, { type: 'file', mode: 0o644, content })
  return { mediaType, digest, size: content.length }
}

function digestOf(content: Buffer): string {
  return `sha256:${sha256Hex(content)}`
}
