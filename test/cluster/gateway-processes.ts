import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, get as httpGet } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKubectl } from '../../controlplane/cli/cluster/kubectl.ts'
import { bundledProgram } from '../support/bundled-program.ts'
import { eventually } from '../support/eventually.ts'
import { end, rssMib } from '../support/processes.ts'
import { PROGRAM_ENV } from '../support/program-env.ts'
import { queueLookups } from '../support/proof.ts'
import { startRecorder } from '../support/recorder.ts'
import { openTunnel, type Target } from '../support/tunnel.ts'
import type { ControlPlane } from './control-plane.ts'
import { SYSTEM } from './installation.ts'
import { get } from './kubectl.ts'
import { kubeTools } from './tools/kube-tools.ts'

/** Name of the gateway and of its connector, and beginning of the names of its agents. */
const NAME = 'beside'
const HOST = 'api.beside.test'
/** Processes that start at once. */
const AT_A_TIME = 4
/** An agent has 120 requests a minute, the default of a Gateway. */
const ASK_EVERY_MS = 600

/** Gateway processes on this machine that are enrolled with the control plane of the cluster, each with an agent of its own. */
export type GatewayProcesses = AsyncDisposable & {
  /** Resident memory of each process in MiB. */
  memoryMib(): readonly number[]
  /** When the agent of each process was first answered with this status since that moment; null until all have been. */
  since(startMs: number, status: number): readonly number[] | null
  /** Number of times since that moment that the status of the answers through a process changed. */
  changesSince(startMs: number): number
}

type Answer = { readonly at: number; readonly status: number }
type Process = AsyncDisposable & { readonly pid: number; readonly answers: readonly Answer[] }

/**
 * Creates a gateway with its agents through the API, enrols that many processes with its token, and has an agent call through
 * each of them. Resolves when all calls are answered 200.
 */
export async function startGatewayProcesses(plane: ControlPlane, count: number): Promise<GatewayProcesses> {
  const folder = mkdtempSync(join(tmpdir(), 'chaperone-beside-'))
  const recorder = await startRecorder()
  const tools = await kubeTools()
  const kubectl = createKubectl([], { ...process.env, KUBECTL: tools?.kubectl })
  const forward = await kubectl.forward(SYSTEM, 'chaperone-control-plane', 443)
  writeFileSync(join(folder, 'enrol.token'), await enrol(plane, recorder.port))
  writeFileSync(join(folder, 'control-plane.crt'), await controlPlaneCa())
  const names = Array.from({ length: count }, (_, at) => `${NAME}-${at}`)
  const planeUrl = `https://localhost:${forward.port}`
  const processes = await queueLookups(names, AT_A_TIME, async (name) => {
    const proxyAuthorization = await createAgent(plane, name)
    return startProcess({ folder, place: join(folder, name), proxyAuthorization, planeUrl })
  })
  const all: GatewayProcesses = {
    memoryMib: () => processes.map(({ pid }) => Math.round(rssMib(pid).now)),
    since(startMs, status) {
      const first = processes.map(({ answers }) =>
        answers.find((answer) => answer.at >= startMs && answer.status === status),
      )
      const times = first.flatMap((answer) => (answer === undefined ? [] : [answer.at]))
      return times.length === count ? times : null
    },
    changesSince: (startMs) =>
      processes.flatMap(({ answers }) => answers.filter(({ at }) => at >= startMs)).length,
    async [Symbol.asyncDispose]() {
      await Promise.all(processes.map((one) => one[Symbol.asyncDispose]()))
      forward.close()
      await recorder.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  await eventually(`the agents of ${count} processes are served`, () => all.since(0, 200), 300_000)
  return all
}

type Reply = { readonly gateway_token: string | null; readonly api_key: string | null }

/** Creates the gateway. Resolves with the token that enrols its processes. */
async function enrol(plane: ControlPlane, upstreamPort: number): Promise<string> {
  const { gateway_token: token } = await plane.call<Reply>('POST', '/api/dashboard/gateway', {
    gateway: { name: NAME, enforcementLevel: 'full_enforce' },
    connectors: [
      {
        ...{ type: 'generic', name: NAME, token: 'credential-of-the-processes', domains: [HOST] },
        ...{ base_url: `http://127.0.0.1:${upstreamPort}`, allow_private_addresses: true },
        ...{ allow_plaintext_credential: true, accessRule: 'allow_all' },
      },
    ],
  })
  if (token === null) throw new Error(`the database has a gateway ${NAME} of an earlier run`)
  return token
}

/** Creates an agent of the gateway. Resolves with its Proxy-Authorization. */
async function createAgent(plane: ControlPlane, name: string): Promise<string> {
  const body = { gateway: { name: NAME }, agent: { name, create: true } }
  const { api_key: key } = await plane.call<Reply>('POST', '/api/dashboard/gateway', body)
  return `Basic ${Buffer.from(`${name}:${key ?? ''}`).toString('base64')}`
}

async function controlPlaneCa(): Promise<string> {
  type Data = { readonly data: Readonly<Record<string, string>> }
  const map = await get<Data>('configmap', 'chaperone-control-plane-authority', SYSTEM)
  return map?.data['ca.crt'] ?? ''
}

type Start = {
  readonly folder: string
  /** Folder of this process. */
  readonly place: string
  readonly proxyAuthorization: string
  readonly planeUrl: string
}

async function startProcess({ folder, place, proxyAuthorization, planeUrl }: Start): Promise<Process> {
  mkdirSync(join(place, 'data'), { recursive: true })
  const child = fork(await bundledProgram('sidecar'), {
    env: {
      ...PROGRAM_ENV,
      PORT: '0',
      CONTROL_PLANE_URL: planeUrl,
      NODE_EXTRA_CA_CERTS: join(folder, 'control-plane.crt'),
      GATEWAY_TOKEN_FILE: join(folder, 'enrol.token'),
      INTERNAL_TOKEN_FILE: join(place, 'internal.token'),
      DATA_DIR: join(place, 'data'),
      CA_CERT_FILE: join(place, 'ca.crt'),
      CA_KEY_FILE: join(place, 'ca.key'),
      CA_BUNDLE_FILE: join(place, 'bundle.crt'),
    },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  const port = await portOf(child)
  const ca = readFileSync(join(place, 'ca.crt'), 'utf8')
  const { answers, stop } = startAsking({ port, via: 'connect', ca, proxyAuthorization })
  return {
    pid: child.pid ?? 0,
    answers,
    async [Symbol.asyncDispose]() {
      stop()
      await end(child)
    },
  }
}

async function portOf(child: ChildProcess): Promise<number> {
  let complaint = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    complaint = (complaint + String(chunk)).slice(-2_000)
  })
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the gateway ended with ${code}: ${complaint}`)
  })
  // Later exits are those of the end of the test.
  ended.catch(() => undefined)
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [
    { readonly type: string; readonly port?: number; readonly message?: string },
  ]
  if (message.type !== 'ready') throw new Error(message.message ?? complaint)
  return message.port ?? 0
}

/** Calls through a process until `stop`. `answers` has those whose status differs from the one before. */
function startAsking(target: Target) {
  const answers: Answer[] = []
  let isStopped = false
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  agent.createConnection = (_options, done) => {
    openTunnel(target, HOST).then(
      (socket) => done?.(null, socket),
      (error: Error) => done?.(error, undefined as never),
    )
    return undefined
  }
  const note = (status: number) => {
    if (answers.at(-1)?.status !== status) answers.push({ at: Date.now(), status })
    if (!isStopped) setTimeout(ask, ASK_EVERY_MS)
  }
  function ask(): void {
    const request = httpGet({ agent, host: HOST, path: '/watch' }, (response) => {
      response.resume().once('end', () => note(response.statusCode ?? 0))
    })
    request.once('error', () => note(0))
  }
  ask()
  const stop = () => {
    isStopped = true
    agent.destroy()
  }
  return { answers, stop }
}
