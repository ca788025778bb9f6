import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Architecture } from './architecture.ts'
import { type DebianPackage, downloadDebianPackages } from './debian-packages.ts'
import { debianTree, IMAGE_PACKAGES, nodeTree } from './image-layers.ts'
import { type Layer, layerOf } from './oci-layout.ts'

export type BaseLayers = {
  readonly architecture: Architecture
  /** The layer of Debian's packages, then the layer of Node. */
  readonly layers: readonly Layer[]
  readonly debian: readonly DebianPackage[]
  /** Version of Debian, such as `12`. */
  readonly release: string
}

/**
 * Returns the layers below the programs: the packages of the Debian release of this machine, and the Node version that
 * runs this script. Downloads into `folder`. `timeS`: Unix time of all files in the layers.
 */
export async function baseLayers(
  architecture: Architecture,
  folder: string,
  timeS: number,
): Promise<BaseLayers> {
  const debian = downloadDebianPackages(architecture, IMAGE_PACKAGES, join(folder, 'debian', architecture))
  const text = ['ID', 'VERSION_ID', 'VERSION_CODENAME', 'PRETTY_NAME'].map(
    (key) => `${key}=${osRelease(key)}\n`,
  )
  const packages = await debianTree(debian, text.join(''))
  const node = await nodeTree(downloadNode(architecture, join(folder, 'node')))
  const layers = [
    await layerOf(`Debian packages: ${IMAGE_PACKAGES.join(', ')}`, packages, timeS),
    await layerOf(`Node ${process.versions.node}`, node, timeS),
  ]
  return { architecture, layers, debian, release: osRelease('VERSION_ID').replaceAll('"', '') }
}

/**
 * Checksums (Subresource Integrity) of the npm packages that contain the binary of this Node version for Linux. The
 * lockfile contains the package `node` but not these checksums.
 */
const NODE_PACKAGES = {
  version: '24.21.0',
  amd64: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  arm64: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
} as const

/**
 * Downloads the npm package with the binary of Node for Linux. Returns its path. Throws for a package with another
 * checksum.
 */
function downloadNode(architecture: Architecture, folder: string): string {
  const { node: version } = process.versions
  if (version !== NODE_PACKAGES.version)
    throw new Error(`scripts/release/base-layers.ts has no checksums of Node ${version}. Add them.`)
  mkdirSync(folder, { recursive: true })
  const binary = `node-linux-${architecture === 'amd64' ? 'x64' : architecture}@${version}`
  const args = ['pack', binary, '--pack-destination', folder, '--json', '--loglevel=error']
  const packed = JSON.parse(execFileSync('npm', args, { encoding: 'utf8' })) as object
  // npm 11 prints a list. npm 12 prints an object with the name of the package as key.
  const [first] = Object.values(packed) as ReadonlyArray<{ readonly filename: string }>
  const file = join(folder, first?.filename ?? '')
  const checksum = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`
  if (checksum !== NODE_PACKAGES[architecture])
    throw new Error(
      `The downloaded package of ${binary} has the checksum ${checksum}, but scripts/release/base-layers.ts lists ${NODE_PACKAGES[architecture]}. Check the download, or update the list.`,
    )
  return file
}

/** Returns the value of a field of os-release(5), including the quotes that the file may have around it. */
function osRelease(key: string): string {
  return new RegExp(`^${key}=(.*)$`, 'm').exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? ''
}
