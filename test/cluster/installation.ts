import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { baseLayers } from '../../scripts/release/base-layers.ts'
import { packTree } from '../../scripts/release/file-tree.ts'
import { IMAGE_RUN, ownArchitecture, programTree } from '../../scripts/release/image-layers.ts'
import { imageLayout, layerOf } from '../../scripts/release/oci-layout.ts'
import { replaceSidecar } from '../skew/frozen-image.ts'
import { startPostgres } from '../support/postgres.ts'
import { type ClusterEnvironment, clusterEnvironment } from './environment.ts'
import { apply, get, helm, kube, run } from './kubectl.ts'
import { assemblePostgresImage } from './postgres/postgres-image.ts'

export const SYSTEM = 'chaperone-system'
/** Whose Secrets the operator may read; the tests' Gateways live there. */
export const AGENTS = 'chaperone-test-agents'
const ROOT = join(import.meta.dirname, '../..')
export const CHART = join(ROOT, 'helm')

declare module 'vitest' {
  interface ProvidedContext {
    readonly installation: Installation
  }
}

/** What the chart is installed with. */
export type Installation = {
  readonly image: string
  readonly values: readonly string[]
  readonly environment: ClusterEnvironment
}

/** Builds the image, loads it, and gives the control plane a database on this machine; once for all files. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const environment = clusterEnvironment()
  const image = `chaperone:test-${randomBytes(4).toString('hex')}`
  await loadImages(environment, image)
  const postgres = await startPostgres()
  const url = new URL((await postgres.createDatabase()).url)
  const databasePort = url.port
  url.hostname = environment.hostAddress
  await restrictedNamespace(SYSTEM)
  await apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: AGENTS } },
    secret(SYSTEM, 'database', { url: url.href }),
  )
  const installation: Installation = {
    image,
    environment,
    values: await chartValues(image, databasePort),
  }
  provide('installation', installation)
  return async () => {
    await kube(['delete', 'namespace', AGENTS, '--ignore-not-found', '--timeout=90s'])
    await uninstall()
    // Made by the chart's job and kept on purpose; the database that they belong to ends here.
    await kube(['delete', 'namespace', SYSTEM, '--ignore-not-found', '--timeout=90s'])
    await postgres.stop()
  }
}

/** The same installation, whose new pods get sidecars of the frozen version. */
export function withFrozenSidecars({ values, image }: Installation): Pick<Installation, 'values'> {
  return { values: [...values, '--set', `image.repository=${frozenImage(image).split(':')[0]}`] }
}

/** Installs the chart, or leaves the installation that is there. */
export async function install({ values }: Pick<Installation, 'values'>): Promise<void> {
  const arguments_ = ['chaperone', CHART, '-n', SYSTEM, ...values]
  await helm(['upgrade', '--install', ...arguments_, '--wait', '--timeout', '180s'])
}

export async function uninstall(): Promise<void> {
  await helm(['uninstall', 'chaperone', '-n', SYSTEM, '--wait', '--timeout', '120s', '--ignore-not-found'])
}

export function secret(namespace: string, name: string, stringData: Readonly<Record<string, string>>) {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData }
}

async function loadImages({ imageLoader }: ClusterEnvironment, image: string): Promise<void> {
  const dist = mkdtempSync(join(tmpdir(), 'chaperone-image-'))
  try {
    const built = await run(process.execPath, [join(ROOT, 'scripts/build.ts'), '--out', dist], '')
    if (built.code !== 0) throw new Error(`the image's folder was not built: ${built.stderr}`)
    assemblePostgresImage(join(dist, 'postgres-image'))
    const { architecture, layers } = await baseLayers(ownArchitecture(), join(dist, 'base'), 0)
    const load = async (folder: string, name: string) => {
      const programs = await layerOf(folder, programTree(join(dist, folder)), 0)
      const facts = { name, timeS: 0, labels: {}, run: IMAGE_RUN }
      const { tree } = imageLayout(facts, [{ architecture, layers: [...layers, programs] }])
      const archive = join(dist, 'image.oci.tar')
      writeFileSync(archive, await packTree(tree, 0))
      const loaded = await run('sh', ['-c', imageLoader, 'loader', archive, name], '')
      if (loaded.code !== 0) throw new Error(`CHAPERONE_IMAGE_LOADER: ${loaded.stderr}`)
    }
    await load('image', image)
    await load('postgres-image', postgresImage(image))
    replaceSidecar(join(dist, 'image'))
    await load('image', frozenImage(image))
  } finally {
    rmSync(dist, { recursive: true, force: true })
  }
}

/** Takes the place of the official image, which the cluster may not be able to pull. */
function postgresImage(image: string): string {
  return image.replace(':', '-postgres:')
}

function frozenImage(image: string): string {
  return image.replace(':', '-frozen:')
}

/** Chaperone's own pods have to do with what PodSecurity leaves them. */
async function restrictedNamespace(name: string): Promise<void> {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
}

async function chartValues(image: string, databasePort: string): Promise<readonly string[]> {
  const [repository = '', tag = ''] = image.split(':')
  type Slice = { readonly ports: ReadonlyArray<{ readonly port: number }> }
  const api = await get<Slice>('endpointslices.discovery.k8s.io', 'kubernetes', 'default')
  const values = {
    'image.repository': repository,
    'image.tag': tag,
    'image.pullPolicy': 'Never',
    'postgres.image': postgresImage(image),
    'database.urlSecret.name': 'database',
    'secretNamespaces[0]': AGENTS,
    'networkPolicy.apiServerPorts[0]': '443',
    'networkPolicy.apiServerPorts[1]': String(api?.ports[0]?.port ?? 6443),
    'networkPolicy.controlPlaneEgressPorts[0]': databasePort,
  }
  return Object.entries(values).flatMap(([name, value]) => ['--set', `${name}=${value}`])
}
