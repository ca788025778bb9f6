import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { manifestOrigin } from '../../../core/crd/manifests/manifest-origin.ts'
import { hasCode } from '../../../operator/kube/kube-failure.ts'
import { kubeTools } from '../../cluster/tools/kube-tools.ts'
import { eventually } from '../../support/eventually.ts'
import { KUBE_ASSETS_HINT, kubeAssets } from '../../support/kube-api-server.ts'
import { pageSnippets } from '../../support/page-snippets.ts'
import { type ClusterWorld, startClusterWorld } from './world.ts'

/** Runs the snippets of docs/gitops.md as Argo CD and Flux document them, with kubectl in place of both. */

const tools = await kubeTools()
const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'chaperone-gitops-'))
afterAll(() => rmSync(folder, { recursive: true }))

const kubectl = async (...args: readonly string[]) => (await run(tools?.kubectl ?? '', [...args])).stdout

type Built = {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> }
}

const OURS = { apiVersion: 'chaperone.dev/v1alpha1' }
const NAMESPACE = 'agents'
const GATEWAY = {
  ...{ ...OURS, kind: 'Gateway', metadata: { name: 'default', namespace: NAMESPACE } },
  spec: { enforcementLevel: 'full_enforce' },
}
const PERMISSION = {
  ...{ ...OURS, kind: 'Permission', metadata: { name: 'readers', namespace: NAMESPACE } },
  spec: {
    gatewayRefs: [{ name: 'default' }],
    rules: [{ connectorType: 'codehost', actionPattern: 'codehost.pr.get', decision: 'allow' }],
  },
}

/** Writes a folder for kustomize. */
function write(path: string, objects: readonly object[], options: object): string {
  const place = join(folder, path)
  rmSync(place, { recursive: true, force: true })
  mkdirSync(place, { recursive: true })
  const resources = objects.map((object, index) => {
    writeFileSync(join(place, `${index}.yaml`), stringify(object))
    return `${index}.yaml`
  })
  writeFileSync(join(place, 'kustomization.yaml'), stringify({ resources, ...options }))
  return place
}

test.skipIf(tools === null)('the annotations that Argo CD adds name the commit of an object', async () => {
  const commit = '0123456789abcdef0123456789abcdef01234567'
  const [snippet = ''] = pageSnippets('gitops.md', 'yaml')
  type Source = {
    readonly kustomize: {
      readonly commonAnnotationsEnvsubst: boolean
      readonly commonAnnotations: Readonly<Record<string, string>>
    }
  }
  const { kustomize } = parse(snippet) as Source
  expect(kustomize.commonAnnotationsEnvsubst).toBe(true)
  const commonAnnotations = Object.fromEntries(
    Object.entries(kustomize.commonAnnotations).map(([name, value]) => [
      name,
      value.replace('$ARGOCD_APP_REVISION', commit),
    ]),
  )
  const built = parse(await kubectl('kustomize', write('argo', [GATEWAY], { commonAnnotations }))) as Built
  expect(manifestOrigin(built.metadata)).toEqual({ file: null, commit, deployed_by: null })
})

type Kustomization = {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace: string }
  readonly spec: {
    readonly path: string
    readonly prune: boolean
    readonly wait: boolean
    readonly timeout: string
    readonly healthChecks: ReadonlyArray<
      Readonly<Record<'apiVersion' | 'kind' | 'name' | 'namespace', string>>
    >
  }
}

function kustomizationOfPage(): Kustomization {
  const objects = pageSnippets('gitops.md', 'yaml').flatMap((text) =>
    parseAllDocuments(text).map((document) => document.toJS() as Kustomization),
  )
  const found = objects.find(({ kind }) => kind === 'Kustomization')
  if (found === undefined) throw new Error('docs/gitops.md has no Kustomization')
  return found
}

describe.skipIf(kubeAssets() === null || tools === null)(`Flux (${KUBE_ASSETS_HINT})`, () => {
  let world: ClusterWorld
  beforeAll(async () => {
    world = await startClusterWorld()
    await world.cluster.namespace(NAMESPACE)
    await world.operator()
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  test('the Kustomization applies a folder, waits for its objects, and deletes what the folder no longer has', async () => {
    const { metadata, spec } = kustomizationOfPage()
    expect(spec).toMatchObject({ prune: true, wait: true })
    const inCluster = ['--kubeconfig', world.server.kubeconfigPath]
    const pairs = {
      'kustomize.toolkit.fluxcd.io/name': metadata.name,
      'kustomize.toolkit.fluxcd.io/namespace': metadata.namespace,
    }
    const apply = async (objects: readonly object[]) => {
      const built = join(folder, 'built.yaml')
      writeFileSync(built, await kubectl('kustomize', write(spec.path, objects, { labels: [{ pairs }] })))
      const as = ['--server-side', '--field-manager=kustomize-controller']
      await kubectl('apply', ...inCluster, ...as, '-f', built)
      const ready = ['wait', ...inCluster, '--for=condition=Ready', `--timeout=${spec.timeout}`]
      await kubectl(...ready, '-f', built)
      for (const { apiVersion, kind, name, namespace } of spec.healthChecks)
        await kubectl(
          ...ready,
          '-n',
          namespace,
          `${kind}.${apiVersion.split('/').reverse().join('.')}/${name}`,
        )
    }
    await apply([GATEWAY, PERMISSION])
    const stored = await world.cluster.get('Permission', NAMESPACE, 'readers')
    expect(manifestOrigin(stored.metadata).deployed_by).toBe(`Flux ${metadata.namespace}/${metadata.name}`)

    await apply([GATEWAY])
    const selector = Object.entries(pairs).map((pair) => pair.join('='))
    const labelled = ['-n', NAMESPACE, '-l', selector.join(',')]
    await kubectl('delete', ...inCluster, ...labelled, 'permissions.chaperone.dev')
    await eventually('the Permission is gone', () =>
      world.cluster.get('Permission', NAMESPACE, 'readers').then(
        () => null,
        (error: unknown) => (hasCode(error, 'not_found') ? true : null),
      ),
    )
  })
})
