import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { type Cluster, openCluster } from '../operator/kube/cluster.ts'
import {
  KUBE_ASSETS_HINT,
  type KubeApiServer,
  kubeAssets,
  startKubeApiServer,
} from '../support/kube-api-server.ts'
import { CHART, helmProgram } from './chart.ts'

const SYSTEM = 'chaperone-system'
const VALUES = ['--set', 'database.urlSecret.name=database', '--no-hooks', '-n', SYSTEM]
const CRD = { base: '/apis/apiextensions.k8s.io/v1', plural: 'customresourcedefinitions' }

type Schema = { properties?: Record<string, Schema>; required?: string[]; maxItems?: number; items?: Schema }
type Crd = {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> }
  readonly spec: {
    readonly versions: [
      { schema: { openAPIV3Schema: Schema }; additionalPrinterColumns?: unknown[]; [key: string]: unknown },
    ]
  }
}

/** Copies the chart with the CRDs of an earlier version: without one field of Gateways, their printer columns, and two of four kinds. */
function formerChart(folder: string): string {
  const chart = join(folder, 'former')
  cpSync(CHART, chart, { recursive: true, verbatimSymlinks: true })
  const crds = join(chart, 'files/crds')
  // In the checkout it is a symbolic link.
  rmSync(crds)
  cpSync(join(CHART, '../crds'), crds, { recursive: true })
  for (const file of readdirSync(crds)) if (/policies|permissions/.test(file)) rmSync(join(crds, file))
  const file = join(crds, 'chaperone.dev_gateways.yaml')
  const gateways = parse(readFileSync(file, 'utf8')) as Crd
  const [version] = gateways.spec.versions
  const spec = version.schema.openAPIV3Schema.properties?.['spec']
  delete spec?.properties?.['audit']
  delete version.additionalPrinterColumns
  writeFileSync(file, stringify(gateways))
  return chart
}

describe.skipIf(kubeAssets() === null || helmProgram === null)(
  `helm upgrade across changes of the CRDs (helm; ${KUBE_ASSETS_HINT})`,
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'chaperone-upgrade-'))
    let server: KubeApiServer
    let cluster: Cluster
    beforeAll(async () => {
      server = await startKubeApiServer()
      cluster = openCluster(server)
      await cluster.namespace(SYSTEM)
      await cluster.namespace('team')
    })
    afterAll(async () => {
      cluster?.[Symbol.dispose]()
      await server?.[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true })
    })

    const helm = async (...args: readonly string[]) =>
      (await promisify(execFile)(helmProgram ?? '', [...args, '--kubeconfig', server.kubeconfigPath])).stdout
    const gatewayCrd = () =>
      cluster.client.call<Crd>({ method: 'GET', path: `${CRD.base}/${CRD.plural}/gateways.chaperone.dev` })
    const hasAudit = async () =>
      (await gatewayCrd()).spec.versions[0].schema.openAPIV3Schema.properties?.['spec']?.properties?.[
        'audit'
      ] !== undefined

    test('objects survive upgrade, rollback and uninstall, and new fields and kinds arrive', async () => {
      await helm('install', 'chaperone', formerChart(folder), ...VALUES)
      expect(await hasAudit()).toBe(false)
      const made = await cluster.create('Gateway', 'team', 'prod', { enforcementLevel: 'monitor' })
      await expect(cluster.create('Gateway', 'team', 'later', { audit: 'sync' })).rejects.toThrow(/audit/)

      await helm('upgrade', 'chaperone', CHART, ...VALUES)
      expect(await hasAudit()).toBe(true)
      const kept = await cluster.get('Gateway', 'team', 'prod')
      expect(kept.metadata.uid).toBe(made.metadata.uid)
      expect(kept['spec']).toMatchObject({ enforcementLevel: 'monitor' })
      await cluster.create('Gateway', 'team', 'later', { audit: 'sync' })
      await cluster.create('Permission', 'team', 'reads', {
        gatewayRefs: [{ name: 'prod' }],
        rules: [{ connectorType: 'codehost', actionPattern: 'codehost.pr.*', decision: 'allow' }],
      })
      expect((await gatewayCrd()).spec.versions[0].additionalPrinterColumns?.length).toBeGreaterThan(3)

      await helm('rollback', 'chaperone', '1', '--no-hooks', '-n', SYSTEM)
      expect(await hasAudit()).toBe(false)
      // The kinds that only the newer version has stay, with their objects.
      expect((await cluster.get('Permission', 'team', 'reads')).metadata.name).toBe('reads')
      expect((await cluster.get('Gateway', 'team', 'later')).metadata.name).toBe('later')

      await helm('upgrade', 'chaperone', CHART, ...VALUES)
      expect((await gatewayCrd()).metadata.annotations?.['helm.sh/resource-policy']).toBe('keep')
      // The rollback removed no value that the objects had: the field was pruned from answers only.
      expect((await cluster.get('Gateway', 'team', 'later'))['spec']).toMatchObject({ audit: 'sync' })

      await helm('uninstall', 'chaperone', '--no-hooks', '-n', SYSTEM)
      expect((await cluster.get('Gateway', 'team', 'prod')).metadata.uid).toBe(made.metadata.uid)
    }, 180_000)
  },
)
