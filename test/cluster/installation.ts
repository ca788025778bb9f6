import { createHash, randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { packTree } from '../../scripts/release/file-tree.ts'
import { IMAGE_RUN, programTree } from '../../scripts/release/image-layers.ts'
import { imageLayout, layerOf } from '../../scripts/release/oci-layout.ts'
import { replacePrograms } from '../skew/frozen-image.ts'
import { eventually } from '../support/eventually.ts'
import { startPostgres } from '../support/postgres.ts'
import { IS_FULL } from '../support/proof.ts'
import { cachedBaseLayers } from './base-layer-cache.ts'
import { moveClocksOf } from './clocks/clock-programs.ts'
import { CONTROL_PLANE_SHIFTS_MS, OPERATOR_SHIFTS_MS, SHIFTS_VARIABLE } from './clocks/shifts.ts'
import { type ClusterEnvironment, clusterEnvironment } from './environment.ts'
import { apply, get, helm, kube, run } from './kubectl.ts'
import { assemblePostgresImage } from './postgres/postgres-image.ts'

export const SYSTEM = 'chaperone-system'
/** Namespaces whose Secrets the operator may read. */
const AGENT_NAMESPACES = ['chaperone-test-agents', 'chaperone-test-sandboxes'] as const
/** Namespace of the Gateways and agents of a file: the first one, unless the group of the file has one of its own. */
export const AGENTS = process.env['CHAPERONE_TEST_NAMESPACE'] ?? AGENT_NAMESPACES[0]
/** Secret with the URL of the database of `frozenVersion`. */
const UPGRADED_DATABASE = 'database-upgraded'
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
  /** URL of the database for a superuser, for this machine. */
  readonly adminUrl: string
  /** URL of the database of `frozenVersion` and `upgradedVersion`, for this machine. */
  readonly upgradedUrl: string
  readonly environment: ClusterEnvironment
}

/** Builds the image, loads it, and gives the control plane a database on this machine; once for all files. */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const environment = clusterEnvironment()
  const image = `chaperone:test-${randomBytes(4).toString('hex')}`
  const startedAt = performance.now()
  const [postgres] = await Promise.all([
    startPostgres(),
    restrictedNamespace(SYSTEM),
    loadImages(environment, image),
  ])
  console.log(`images built and loaded after ${Math.round((performance.now() - startedAt) / 1_000)} s`)
  const { url, adminUrl } = await postgres.createDatabase()
  const { url: upgradedUrl } = await postgres.createDatabase()
  const fromPods = (local: string) => {
    const { username, password, port, pathname } = new URL(local)
    return `postgres://${username}:${password}@${environment.hostAddress}:${port}${pathname}`
  }
  await apply(
    ...AGENT_NAMESPACES.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    secret(SYSTEM, 'database', { url: fromPods(url) }),
    secret(SYSTEM, UPGRADED_DATABASE, { url: fromPods(upgradedUrl) }),
  )
  const installation: Installation = {
    image,
    environment,
    adminUrl,
    upgradedUrl,
    values: await chartValues(image, new URL(url).port),
  }
  provide('installation', installation)
  return async () => {
    await Promise.all([
      kube(['delete', 'namespace', ...AGENT_NAMESPACES, '--ignore-not-found', '--timeout=90s']),
      uninstall(),
    ])
    // Made by the chart's job and kept on purpose; the database that they belong to ends here.
    await kube(['delete', 'namespace', SYSTEM, '--ignore-not-found', '--timeout=90s'])
    await postgres.stop()
  }
}

/**
 * Control plane and sidecars of the frozen version, under the operator of this tree, on a database of their own: its schema
 * is that of the frozen version until the upgrade.
 */
export function frozenVersion(installation: Installation): Pick<Installation, 'values'> {
  const { values } = upgradedVersion(installation)
  return { values: [...values, '--set', `image.repository=${frozenImage(installation.image).split(':')[0]}`] }
}

/** The programs of this tree with clocks that SIGUSR2 moves (`clocks/moved-clock.ts`). The image exists in the full proof only. */
export function movedClocks({ image, values }: Installation): Pick<Installation, 'values'> {
  const shifts = [
    ['operator', OPERATOR_SHIFTS_MS],
    ['controlPlane', CONTROL_PLANE_SHIFTS_MS],
  ] as const
  const variables = shifts.flatMap(([component, shiftsMs]) => [
    ...['--set-string', `${component}.extraEnv[0].name=${SHIFTS_VARIABLE}`],
    ...['--set-string', `${component}.extraEnv[0].value=${shiftsMs}`],
  ])
  const repository = clockImage(image).split(':')[0]
  return { values: [...values, '--set', `image.repository=${repository}`, ...variables] }
}

/** The programs of this tree on the database of `frozenVersion`. */
export function upgradedVersion({ values }: Installation): Pick<Installation, 'values'> {
  return { values: [...values, '--set', `database.urlSecret.name=${UPGRADED_DATABASE}`] }
}

/**
 * Installs the chart, or waits for the installation that is there if it has these values: an upgrade would run the chart's
 * jobs and change nothing. Of files that run at the same time one installs, and the others wait for it: helm refuses a second
 * operation.
 */
export async function install({ values }: Pick<Installation, 'values'>): Promise<void> {
  // The tag is that of this run, so the lock of an interrupted run does no harm.
  const tag = values.find((value) => value.startsWith('image.tag=')) ?? ''
  const lock = join(tmpdir(), `chaperone-${tag}.lock`)
  await eventually('no other file installs', () => (isCreated(lock) ? true : null), 300_000)
  try {
    await installNow(values)
  } finally {
    rmdirSync(lock)
  }
}

function isCreated(folder: string): boolean {
  try {
    mkdirSync(folder)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

async function installNow(values: readonly string[]): Promise<void> {
  const digest = createHash('sha256').update(JSON.stringify(values)).digest('hex')
  const release = await releaseUid()
  if (release !== '' && (await installedBefore()) === `${digest} ${release}`) {
    await kube(['wait', 'deployment', '--all', '-n', SYSTEM, '--for=condition=Available', '--timeout=180s'])
    return
  }
  const arguments_ = ['chaperone', CHART, '-n', SYSTEM, ...values]
  await helm(['upgrade', '--install', ...arguments_, '--wait', '--timeout', '180s'])
  await kube(['annotate', 'namespace', SYSTEM, '--overwrite', `${INSTALLED}=${digest} ${await releaseUid()}`])
}

/** Annotation of the namespace: the values of the last installation and its release. */
const INSTALLED = 'chaperone.test/installed'

async function installedBefore(): Promise<string | undefined> {
  type Annotated = { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } }
  const namespace = await get<Annotated>('namespace', SYSTEM)
  return namespace?.metadata.annotations?.[INSTALLED]
}

/** UID of the deployed release, which another upgrade, rollback or installation changes; empty without one. */
async function releaseUid(): Promise<string> {
  const release = 'owner=helm,name=chaperone,status=deployed'
  const uid = await kube([
    'get',
    'secret',
    '-n',
    SYSTEM,
    '-l',
    release,
    '-o',
    'jsonpath={.items[*].metadata.uid}',
  ])
  return uid.trim()
}

export async function uninstall(): Promise<void> {
  await helm(['uninstall', 'chaperone', '-n', SYSTEM, '--wait', '--timeout', '120s', '--ignore-not-found'])
}

export function secret(namespace: string, name: string, stringData: Readonly<Record<string, string>>) {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData }
}

/** Packs an image while the one before is loaded. */
async function loadImages({ imageLoader }: ClusterEnvironment, image: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'chaperone-image-'))
  // The build empties its folder.
  const dist = join(folder, 'dist')
  let loading: Promise<void> = Promise.resolve()
  try {
    const building = run(process.execPath, [join(ROOT, 'scripts/build.ts'), '--out', dist], '')
    const { architecture, layers } = await cachedBaseLayers(join(folder, 'base'))
    const built = await building
    if (built.code !== 0) throw new Error(`the image's folder was not built: ${built.stderr}`)
    assemblePostgresImage(join(dist, 'postgres-image'))
    const load = async (from: string, name: string) => {
      const programs = await layerOf(from, programTree(join(dist, from)), 0)
      const facts = { name, timeS: 0, labels: {}, run: IMAGE_RUN }
      const { tree } = imageLayout(facts, [{ architecture, layers: [...layers, programs] }])
      const archive = await packTree(tree, 0)
      await loading
      const path = join(folder, 'image.oci.tar')
      writeFileSync(path, archive)
      loading = run('sh', ['-c', imageLoader, 'loader', path, name], '').then((loaded) => {
        if (loaded.code !== 0) throw new Error(`CHAPERONE_IMAGE_LOADER: ${loaded.stderr}`)
      })
      // The next image awaits the result.
      loading.catch(() => undefined)
    }
    await load('image', image)
    await load('postgres-image', postgresImage(image))
    if (IS_FULL) {
      cpSync(join(dist, 'image'), join(dist, 'clock-image'), { recursive: true })
      moveClocksOf(join(dist, 'clock-image'))
      await load('clock-image', clockImage(image))
    }
    replacePrograms(join(dist, 'image'))
    await load('image', frozenImage(image))
    await loading
  } finally {
    await loading.catch(() => undefined)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Takes the place of the official image, which the cluster may not be able to pull. */
function postgresImage(image: string): string {
  return image.replace(':', '-postgres:')
}

function clockImage(image: string): string {
  return image.replace(':', '-clock:')
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
    'secretNamespaces[0]': AGENT_NAMESPACES[0],
    'secretNamespaces[1]': AGENT_NAMESPACES[1],
    'networkPolicy.apiServerPorts[0]': '443',
    'networkPolicy.apiServerPorts[1]': String(api?.ports[0]?.port ?? 6443),
    'networkPolicy.controlPlaneEgressPorts[0]': databasePort,
  }
  return Object.entries(values).flatMap(([name, value]) => ['--set', `${name}=${value}`])
}
