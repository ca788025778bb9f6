import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGatewayCa } from '../../controlplane/crypto/gateway-ca.ts'
import { createKeyring } from '../../controlplane/crypto/keyring.ts'
import { POD_PORTS } from '../../core/capture/pod-contract.ts'
import { FakeControlPlane, TOKEN } from '../sidecar/control/fake-control-plane.ts'
import { bundledProgram } from '../support/bundled-program.ts'
import { eventually } from '../support/eventually.ts'
import { type Recorder, startRecorder } from '../support/recorder.ts'
import { createTestCa } from '../support/test-ca.ts'
import { createPodNetwork, type PodNetwork } from './network.ts'

export const PROXY_UID = 1_912_345_678
export const AGENT_UID = 1_000
export const AGENT = 'team/bot'
export const HOST = 'api.example.test'
export const SECRET = 'upstream-secret'

/** A governed pod: rules, a sidecar with its own user, a mock control plane, and a recorder as the upstream. */
export type GovernedPod = AsyncDisposable & {
  readonly network: PodNetwork
  readonly fake: FakeControlPlane
  readonly upstream: Recorder
  readonly dir: string
  readonly trustDir: string
  readonly log: () => string
  /** Requests `/started`, `/ready`, … from outside the pod. */
  health(path: string): Promise<{ readonly status: number; readonly text: string }>
  start(timeoutMs?: number): Promise<void>
  kill(): Promise<void>
  signal(name: NodeJS.Signals): Promise<void>
  /** `/proc/PID/status` of the sidecar: VmRSS, VmHWM, … */
  memory(): Promise<string>
}

export type UpstreamAt = { readonly url: string; readonly caBundle: string }
export type PodOptions = {
  readonly hasIpv6?: boolean
  readonly hasRules?: boolean
  readonly isStarted?: boolean
  /** False when the control plane issues no certificate. */
  readonly isSigned?: boolean
  /** Permitted hosts of its certificates; default: those of the connector. */
  readonly hosts?: () => readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** `upstream`: address of the recorder in the pod, and its CA. */
  readonly sections?: (upstream: UpstreamAt) => Record<string, unknown>
}

export async function startGovernedPod(options: PodOptions = {}): Promise<GovernedPod> {
  const network = await createPodNetwork({ hasIpv6: options.hasIpv6 ?? true })
  const dir = mkdtempSync(join(tmpdir(), 'chaperone-pod-'))
  chmodSync(dir, 0o755)
  const trustDir = join(dir, 'trust')
  const dataDir = join(dir, 'data')
  for (const path of [trustDir, dataDir]) {
    mkdirSync(path)
    chownSync(path, PROXY_UID, PROXY_UID)
  }
  chmodSync(dataDir, 0o700)
  const tokenFile = join(dir, 'token')
  writeFileSync(tokenFile, TOKEN)
  const ca = createTestCa()
  const upstream = await startRecorder({ tls: ca.issue(HOST), h2: true })
  const fake = await FakeControlPlane.start({ tls: ca.issue(network.host.v4) })
  const controlPlaneCa = join(dir, 'control-plane.crt')
  writeFileSync(controlPlaneCa, ca.cert)
  const podCa = createGatewayCa(createKeyring(randomBytes(32)), Date.now())
  const hosts = () => options.hosts?.() ?? [HOST]
  if (options.isSigned ?? true)
    fake.sign = (request) => podCa.issue(request, { subject: AGENT, hosts: hosts(), nowMs: Date.now() }).chain
  const exposed = await network.expose(upstream.port)
  const at = { url: `https://${network.host.v4}:${exposed}`, caBundle: ca.cert }
  const controlPort = await network.expose(fake.port)
  fake.configure({
    agents: [
      {
        id: 'agent_1',
        name: AGENT,
        runtime: 'k8s',
        environment: 'production',
        status: 'active',
        key_sha256: null,
      },
    ],
    connectors: [connector(at)],
    'permissions.00': [permission('generic.*', 'allow')],
    ...options.sections?.(at),
  })
  const chunks: string[] = []
  let child: ChildProcess | null = null

  async function start(timeoutMs?: number): Promise<void> {
    const file = await bundledProgram('sidecar')
    const [program = '', ...args] = [...network.inside(PROXY_UID), process.execPath, file]
    const started = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'] ?? '',
        ...podEnvironment({ dataDir, tokenFile, trustDir }),
        CONTROL_PLANE_URL: `https://${network.host.v4}:${controlPort}`,
        CONTROL_PLANE_CA_FILE: controlPlaneCa,
        DNS_RESOLVERS: network.host.v4,
        ...options.env,
      },
    })
    child = started
    const before = chunks.join('').length
    for (const stream of [started.stdout, started.stderr])
      stream.on('data', (chunk: Buffer) => chunks.push(String(chunk)))
    await eventually(
      'sidecar listens',
      () => {
        if (started.exitCode !== null) throw new Error(`the sidecar ended: ${chunks.join('')}`)
        return chunks.join('').slice(before).includes('sidecar listens') ? true : null
      },
      timeoutMs,
    )
  }

  async function kill(): Promise<void> {
    const running = child
    child = null
    if (running === null || running.exitCode !== null) return
    const gone = new Promise((resolve) => running.once('exit', resolve))
    running.kill('SIGKILL')
    await gone
  }

  const pod: GovernedPod = {
    ...{ network, fake, upstream, dir, trustDir, start, kill },
    log: () => chunks.join(''),
    async signal(name) {
      child?.kill(name)
    },
    memory: () => readFile(`/proc/${child?.pid}/status`, 'utf8'),
    async health(path) {
      const response = await fetch(`http://${network.own.v4}:${POD_PORTS.health}${path}`)
      return { status: response.status, text: await response.text() }
    },
    async [Symbol.asyncDispose]() {
      await kill()
      await network[Symbol.asyncDispose]()
      await fake.stop()
      await upstream.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
  if (options.hasRules ?? true) network.loadRules(PROXY_UID)
  if (!(options.isStarted ?? true)) return pod
  try {
    await start()
    await eventually('sidecar started', async () =>
      (await pod.health('/started')).status === 200 ? true : null,
    )
    return pod
  } catch (error) {
    await pod[Symbol.asyncDispose]()
    throw error
  }
}

function podEnvironment(files: {
  dataDir: string
  tokenFile: string
  trustDir: string
}): Record<string, string> {
  return {
    ROLE: 'pod',
    INTERCEPTION: 'transparent',
    GATEWAY_NAME: 'team/gateway',
    AGENT_NAME: 'bot',
    POD_NAME: 'bot-1',
    POD_NAMESPACE: 'team',
    POD_UID: 'a5d6f7c1-0000-4000-8000-000000000001',
    POD_SERVICE_ACCOUNT: 'default',
    CLUSTER_DOMAIN: 'cluster.local',
    DATA_DIR: files.dataDir,
    GATEWAY_TOKEN_FILE: files.tokenFile,
    ADMIN_SOCKET: join(files.dataDir, 'admin.sock'),
    TRUST_DIR: files.trustDir,
    LOG_LEVEL: 'debug',
  }
}

export function connector(upstream: Record<string, unknown>, more: Record<string, unknown> = {}) {
  return {
    ...{ id: 'conn_1', name: 'example', type: 'generic', domains: [HOST], ports: [443] },
    ...{ auth: { type: 'bearer' }, secret: SECRET, tlsMode: 'intercept', errorShape: 'service' },
    upstream: { allowPrivateAddresses: true, allowPlaintextCredential: true, ...upstream },
    ...{ actions: [], source: 'kubernetes', managed_by: null },
    ...more,
  }
}

export function permission(action_pattern: string, decision: string) {
  return {
    ...{ id: `perm_${action_pattern}`, agent: '*', connector_type: 'generic', action_pattern, decision },
    ...{ reason: null, source: 'kubernetes', managed_by: null },
  }
}

/** The variables that the injector sets: trusted CAs, and no proxy. */
export function trustVariables(trustDir: string): Record<string, string> {
  const bundle = join(trustDir, 'ca-bundle.crt')
  return {
    NODE_EXTRA_CA_CERTS: join(trustDir, 'ca.crt'),
    SSL_CERT_FILE: bundle,
    REQUESTS_CA_BUNDLE: bundle,
    CURL_CA_BUNDLE: bundle,
    GIT_SSL_CAINFO: bundle,
  }
}
