import { readFile } from 'node:fs/promises'
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node'
import { describe, expect, test } from 'vitest'
import { KUBE_ASSETS_HINT, kubeAssets, startKubeApiServer } from '../../support/kube-api-server.ts'

const assets = kubeAssets()
/** The start of the programs is part of a test here, and waits for conditions. */
const START_MS = 120_000

describe.skipIf(assets === null)(`the API server of the tests (${KUBE_ASSETS_HINT})`, () => {
  test(
    'is a real one: it keeps what it is given and writes down who asked',
    async () => {
      await using server = await startKubeApiServer()
      const config = new KubeConfig()
      config.loadFromFile(server.kubeconfigPath)
      const api = config.makeApiClient(CoreV1Api)
      await api.createNamespace({ body: { metadata: { name: 'team' } } })
      expect((await api.listNamespace()).items.map((each) => each.metadata?.name)).toContain('team')
      expect(await readFile(server.auditLogPath, 'utf8')).toContain('"verb":"create"')
    },
    START_MS,
  )
})

describe('the search for the API server binaries', () => {
  test('finds none without a setting', () => {
    expect(kubeAssets({ KUBEBUILDER_ASSETS: '/nowhere' })).toBeNull()
  })
  test('fails in CI instead of skipping, and names the command to install them', () => {
    expect(() => kubeAssets({ KUBEBUILDER_ASSETS: '/nowhere', CI: '1' })).toThrow(/setup-envtest/)
  })
})
