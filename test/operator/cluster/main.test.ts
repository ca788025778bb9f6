import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readConfig } from '../../../operator/config.ts'
import { OPERATOR_TOKEN } from '../../controlplane/sync/harness.ts'
import { bundledProgram } from '../../support/bundled-program.ts'
import { eventually } from '../../support/eventually.ts'
import { KUBE_ASSETS_HINT, kubeAssets } from '../../support/kube-api-server.ts'
import { NO_FLOORS } from '../../support/no-floors.ts'
import { PROGRAM_ENV } from '../../support/program-env.ts'
import { type ClusterWorld, SYSTEM, startClusterWorld, untilConditions } from './world.ts'

const MAIN = await bundledProgram('operator')
const PODS = { base: '/api/v1', plural: 'pods' }

describe.skipIf(kubeAssets() === null)(`the program in a cluster (${KUBE_ASSETS_HINT})`, () => {
  let world: ClusterWorld
  let folder: string
  const children: ChildProcess[] = []
  const logged: string[] = []
  beforeAll(async () => {
    world = await startClusterWorld()
    folder = await mkdtemp(join(tmpdir(), 'chaperone-main-'))
    await writeFile(join(folder, 'token'), OPERATOR_TOKEN)
    await world.cluster.namespace('team')
    await world.cluster.create('Gateway', 'team', 'prod', {})
  })
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  })

  function start(env: Record<string, string>) {
    const child = fork(MAIN, {
      env: {
        ...{ ...PROGRAM_ENV, POD_NAMESPACE: SYSTEM, POD_NAME: 'operator', HEALTH_PORT: '0' },
        ...{ HEALTH_HOST: '127.0.0.1', KUBECONFIG: world.server.kubeconfigPath },
        ...{ CONTROL_PLANE_URL: world.replica.url, OPERATOR_TOKEN_FILE: join(folder, 'token') },
        ...env,
      },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    child.stderr?.on('data', (chunk: Buffer) => void logged.push(chunk.toString()))
    children.push(child)
    const message = once(child, 'message').then(([first]) => first as Record<string, unknown>)
    return { child, message }
  }

  test('reconciles, injects, serves readiness and metrics, and releases the lease on SIGTERM', async () => {
    const { child, message } = start({
      ...{ SIDECAR_DNS_RESOLVERS: '10.96.0.10' },
      ...{ SIDECAR_IMAGE: 'example/chaperone:1', WEBHOOK_HOST: '127.0.0.1', WEBHOOK_PORT: '0' },
      ...{ WEBHOOK_ADDRESS: '127.0.0.1', LOG_LEVEL: 'info' },
      OTEL_RESOURCE_ATTRIBUTES: 'k8s.cluster.name=prod-1',
    })
    const ready = await message
    const lines = await eventually('it logs', () =>
      logged.join('').includes('operator started') ? logged.join('').trim().split('\n') : null,
    )
    for (const line of lines)
      expect(JSON.parse(line)).toMatchObject({ resource: { 'k8s.cluster.name': 'prod-1' } })
    expect(ready).toMatchObject({ type: 'ready', health_port: expect.any(Number) })
    const health = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${ready['health_port']}${path}`)
      return { status: answer.status, text: await answer.text() }
    }
    await eventually('it is ready', async () => ((await health('/readyz')).status === 200 ? true : null))
    expect(JSON.parse((await health('/readyz')).text)).toMatchObject({
      synced: 'ok',
      'kill-switches': 'ok',
      injector: 'ok',
    })
    await untilConditions(world.cluster, ['Gateway', 'team', 'prod'], ['Ready=True/Ready'])
    const { text } = await health('/metrics')
    for (const name of [
      'is_leader 1',
      'relists_total{resource="gateways"} 1',
      'staleness_seconds{resource="pods"}',
    ])
      expect(text).toContain(`svc_operator_${name}`)
    const injected = await eventually('a pod gets its sidecar', async () => {
      const name = `agent-${Math.trunc(performance.now())}`
      const metadata = { name, annotations: { 'chaperone.dev/gateway': 'prod' } }
      const pod = await world.cluster.createRaw(PODS, 'team', {
        ...{ apiVersion: 'v1', kind: 'Pod', metadata },
        spec: { serviceAccountName: 'default', containers: [{ name: 'agent', image: 'node:24' }] },
      })
      return pod.metadata.labels?.['chaperone.dev/inject'] === 'injected' ? pod : null
    })
    expect(JSON.stringify(injected)).toContain('chaperone-proxy')
    const reviewed = (await health('/metrics')).text
    for (const row of [
      /^svc_operator_admission_reviews_total\{webhook="pods",outcome="injected"\} [1-9]/m,
      /^svc_operator_admission_review_seconds_count\{webhook="pods"\} [1-9]/m,
      /^svc_operator_certificate_remaining_seconds\{certificate="webhook"\} 60\d{4}/m,
      /^svc_operator_certificate_remaining_seconds\{certificate="webhook_ca"\} 3\d{7}/m,
      /^svc_operator_ungoverned_pods\{gateway="team\/prod"\} 0$/m,
    ])
      expect(reviewed).toMatch(row)
    await eventually('the pod is counted', async () => {
      const gateway = await world.cluster.get('Gateway', 'team', 'prod')
      const { governed } = (gateway['status'] as { pods?: { governed?: number } }).pods ?? {}
      return governed === 1 ? true : null
    })
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    expect((await ended)[0]).toBe(0)
    const lease = await world.cluster.get('Lease', SYSTEM, 'chaperone-operator')
    expect((lease['spec'] as { holderIdentity?: string }).holderIdentity ?? '').toBe('')
  })

  test('names a missing setting when it cannot start', async () => {
    const { message } = start({ POD_NAMESPACE: '' })
    expect(await message).toMatchObject({ type: 'fatal', message: expect.stringContaining('POD_NAMESPACE') })
    const without = start({})
    expect(await without.message).toMatchObject({ message: expect.stringContaining('SIDECAR_IMAGE') })
  })
})

describe('the settings of the operator', () => {
  const cluster = { POD_NAMESPACE: 'ns', CONTROL_PLANE_URL: 'https://cp:3000/', OPERATOR_TOKEN_FILE: '/t' }
  test('select the folder if one is set, and the cluster otherwise', () => {
    expect(readConfig({ ...cluster, MANIFESTS_DIR: '/m' })).toMatchObject({
      mode: 'folder',
      manifestsDir: '/m',
    })
    expect(readConfig(cluster)).toEqual({
      ...{
        mode: 'cluster',
        namespace: 'ns',
        podName: 'operator',
        kubeconfig: null,
        podApi: null,
        logLevel: 'info',
      },
      ...{ controlPlaneUrl: 'https://cp:3000', controlPlaneCaFile: null, operatorTokenFile: '/t' },
      ...{
        peersHost: null,
        peers: [],
        leaseName: 'chaperone-operator',
      },
      ...{ healthHost: '0.0.0.0', healthPort: 8081, floorRules: NO_FLOORS },
    })
  })

  test('contain the floors and the exempt namespaces', () => {
    const env = { GATEWAY_FLOORS: '{"hardening":"strict"}', PLATFORM_NAMESPACES: 'platform, security' }
    expect(readConfig({ ...cluster, ...env })).toMatchObject({
      floorRules: {
        floors: { hardening: 'strict' },
        platformNamespaces: new Set(['platform', 'security']),
      },
    })
  })

  test.each([
    [{ ...cluster, CONTROL_PLANE_PEERS: 'https://a:1, b' }, /CONTROL_PLANE_PEERS is "b"/],
    [
      { ...cluster, CONTROL_PLANE_PEERS: 'http://a:1' },
      /CONTROL_PLANE_PEERS is "http:\/\/a:1"; set it to an https/,
    ],
    [{ ...cluster, CONTROL_PLANE_URL: 'http://cp:3000' }, /CONTROL_PLANE_URL .* set it to an https address/],
    [{ ...cluster, GATEWAY_FLOORS: '{"hardening":"hard"}' }, /GATEWAY_FLOORS\.hardening/],
    [{ ...cluster, HEALTH_PORT: 'eighty' }, /HEALTH_PORT is "eighty"/],
    [{ ...cluster, CONTROL_PLANE_URL: 'cp:3000' }, /CONTROL_PLANE_URL is "cp:3000"/],
    [{ ...cluster, OPERATOR_TOKEN_FILE: '' }, /OPERATOR_TOKEN_FILE is not set/],
  ])('name the invalid variable: %#', (env, message) => {
    expect(() => readConfig(env)).toThrow(message)
  })
})
