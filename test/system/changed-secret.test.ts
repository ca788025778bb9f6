import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ClusterOperator, createClusterOperator } from '../../operator/cluster/cluster-operator.ts'
import type { ClusterConfig } from '../../operator/config.ts'
import { OPERATOR_TOKEN } from '../controlplane/routes/installation.ts'
import { type Cluster, openCluster } from '../operator/kube/cluster.ts'
import { eventually } from '../support/eventually.ts'
import {
  KUBE_ASSETS_HINT,
  type KubeApiServer,
  kubeAssets,
  startKubeApiServer,
} from '../support/kube-api-server.ts'
import { NO_FLOORS } from '../support/no-floors.ts'
import { type MintedWorld, startMintedWorld } from './minted-world.ts'

const SECRETS = { base: '/api/v1', plural: 'secrets' }

describe.skipIf(kubeAssets() === null)(
  `a Secret of the cluster, from the API server to the upstream (${KUBE_ASSETS_HINT})`,
  () => {
    let folder: string
    let world: MintedWorld
    let server: KubeApiServer
    let cluster: Cluster
    let operator: ClusterOperator | undefined

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'chaperone-changed-secret-'))
      writeFileSync(join(folder, 'token'), OPERATOR_TOKEN)
      ;[world, server] = await Promise.all([startMintedWorld(), startKubeApiServer()])
      cluster = openCluster(server)
      await cluster.installCrds()
      await cluster.namespace('chaperone-system')
      operator = await startOperator()
    })
    afterAll(async () => {
      await operator?.[Symbol.asyncDispose]()
      cluster?.[Symbol.dispose]()
      await server?.[Symbol.asyncDispose]()
      await world?.[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    })

    /** Starts the operator with the timing of a cluster. */
    async function startOperator(): Promise<ClusterOperator> {
      const config: ClusterConfig = {
        ...{ mode: 'cluster', namespace: 'chaperone-system', podName: 'operator' },
        ...{ leaseName: 'chaperone-operator', controlPlaneUrl: world.here.plane.url, peers: [] },
        ...{ peersHost: null, controlPlaneCaFile: null, logLevel: 'silent' },
        ...{ operatorTokenFile: join(folder, 'token'), floorRules: NO_FLOORS },
        ...{ healthHost: '127.0.0.1', healthPort: 0, podApi: null, kubeconfig: server.kubeconfigPath },
      }
      const started = await createClusterOperator({
        config,
        log: pino({ level: 'silent' }),
        openAdmission: null,
      })
      await started.synced
      return started
    }

    const encoded = (token: string) => ({ token: Buffer.from(token).toString('base64') })
    const tokens = (from: number) => [...new Set(world.server.calls.slice(from).map(({ token }) => token))]
    /** Sends requests until the upstream receives the token. Resolves with the milliseconds until then. */
    async function untilSent(token: string): Promise<number> {
      const began = performance.now()
      return eventually(`a request with ${token}`, async () => {
        await world.send('GET', 'changed.test')
        return world.server.calls.at(-1)?.token === token ? performance.now() - began : null
      })
    }

    test('that is changed is what the next requests carry, and the former one is never sent again', async () => {
      const metadata = { name: 'changed' }
      await cluster.createRaw(SECRETS, 'default', { metadata, data: encoded('version-0') })
      await cluster.create('Connector', 'default', 'changed', {
        ...{ type: 'generic', domains: ['changed.test'], credential: { secretRef: { name: 'changed' } } },
        upstream: { url: world.server.url, allowPrivateAddresses: true, allowPlaintextCredential: true },
      })
      await untilSent('version-0')
      for (let version = 1; version <= 3; version++) {
        const token = `version-${version}`
        await cluster.patch('Secret', 'default', 'changed', { data: encoded(token) })
        // The cluster test asserts the bound of 5 s. Here, other tests take the CPU time.
        const elapsedMs = await untilSent(token)
        process.stdout.write(`the changed Secret was sent after ${Math.round(elapsedMs)} ms\n`)
        const from = world.server.calls.length
        for (let round = 0; round < 5; round++)
          await Promise.all(Array.from({ length: 4 }, () => world.send('GET', 'changed.test')))
        expect(world.server.calls.length - from).toBeGreaterThanOrEqual(20)
        expect(tokens(from)).toEqual([token])
      }
    })
  },
)
