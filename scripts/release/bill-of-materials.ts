import type { Architecture } from './architecture.ts'
import type { BundledPackage } from './bundled-packages.ts'
import type { DebianPackage } from './debian-packages.ts'

export type BillOfMaterials = {
  readonly name: string
  readonly version: string
  /** Unix time in seconds. */
  readonly timeS: number
  readonly npm: readonly BundledPackage[]
  /** Packages of the image; absent for the npm package. */
  readonly image?:
    | {
        readonly architecture: Architecture
        readonly debian: readonly DebianPackage[]
        /** Version of Debian, such as `12`. */
        readonly release: string
        readonly nodeVersion: string
      }
    | undefined
}

/** Returns a bill of materials as CycloneDX 1.6 (ECMA-424) JSON, with one component for each package. */
export function billOfMaterials({ name, version, timeS, npm, image }: BillOfMaterials): string {
  const own = { type: 'application', name, version, licenses: [{ expression: 'Apache-2.0' }] }
  const debian = image?.debian.map((component) => debianComponent(component, image.release)) ?? []
  const node = image ? [nodeComponent(image.nodeVersion, image.architecture)] : []
  const components = [...npm.map(npmComponent), ...node, ...debian]
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { timestamp: new Date(timeS * 1000).toISOString(), component: own },
    components,
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

function npmComponent({ name, version, license }: BundledPackage) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return { type: 'library', 'bom-ref': purl, name, version, purl, licenses: [{ expression: license }] }
}

function debianComponent({ name, version, architecture }: DebianPackage, release: string) {
  const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-${release}`
  return { type: 'library', 'bom-ref': purl, name, version, purl }
}

function nodeComponent(version: string, architecture: Architecture) {
  const purl = `pkg:npm/node-linux-${architecture === 'amd64' ? 'x64' : architecture}@${version}`
  return { type: 'application', 'bom-ref': purl, name: 'node', version, purl }
}
