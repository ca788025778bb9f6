import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { GatewaySpec } from '../../core/crd/gateway/gateway-spec.ts'
import { withoutDefaults } from '../../operator/reconcile/without-defaults.ts'
import { isBeforeConfiguration } from '../support/agent.ts'
import { type AgentLine, connectLine } from '../support/agent-line.ts'
import { eventually } from '../support/eventually.ts'
import { allowAll, type Everything, resource, startEverything } from '../support/every-connector.ts'
import { databasesFolder } from '../support/memory-folder.ts'
import { PROGRAM_ENV } from '../support/program-env.ts'
import { queueLookups } from '../support/proof.ts'
import { requestBytes, sendRaw } from '../support/raw-http.ts'
import { startTcpRelay } from '../support/tcp-relay.ts'
import { openSocket, type Target } from '../support/tunnel.ts'
import { workerPostgres } from '../support/worker-postgres.ts'
import type { NewerField, Programs } from './skew-programs.ts'

type Json = Readonly<Record<string, unknown>>

/** A control plane and a gateway of two versions, with connectors of every type in front of one recorder. */
export type SkewWorld = AsyncDisposable & {
  readonly everything: Everything
  /** Agents whom the rules allow everything, each with a line. */
  readonly agents: readonly SkewAgent[]
  /** The line of the first agent. */
  readonly line: AgentLine
  api(path: string): Promise<Json>
  log(): string
  /** Closes the connections of the gateway to its control plane, and refuses new ones until `replaceGateway`. */
  disconnectGateway(): Promise<void>
  /** Ends the gateway by SIGKILL, and starts another version on its data folder, connected to the control plane. */
  replaceGateway(programs: Programs): Promise<void>
}

export type SkewAgent = { readonly name: string; readonly line: AgentLine }

export type SkewOptions = {
  readonly controlPlane: Programs
  readonly gateway: Programs
  /** Number of agents; default 1, whose name is `agent`. */
  readonly agents?: number
  /** Fields that a newer control plane adds. */
  readonly newer?: readonly NewerField[]
  /** Members that a newer gateway writes into its records. */
  readonly words?: Json
}

/** A policy that looks at parameters makes the gateway read every body, as the corpora expect. */
const READING = resource(
  'Policy',
  'reading',
  `  rules:\n    - { name: looks, conditions: ["'never_sent' in parameters"], decision: deny }\n`,
)

/** Starts both. Resolves when the gateway has the rules. */
export async function startSkewWorld(options: SkewOptions): Promise<SkewWorld> {
  const stack = new AsyncDisposableStack()
  try {
    const root = mkdtempSync(join(databasesFolder(), 'chaperone-skew-'))
    stack.defer(() => rmSync(root, { recursive: true, force: true }))
    const names = Array.from({ length: options.agents ?? 1 }, (_, at) => (at === 0 ? 'agent' : `agent-${at}`))
    const everything = await startEverything({
      rules: Object.fromEntries(names.map((name) => [name, allowAll()])),
      extra: READING,
      gatewaySpec: '  rateLimit: { requestsPerMinute: 1000000 }\n  egress: { unmatchedHosts: tunnel }',
    })
    stack.defer(() => everything.recorder.close())
    const server = await workerPostgres()
    stack.defer(() => server.stop())
    const { programs, plane, gateway, ...control } = await startPrograms(
      options,
      root,
      (await server.createDatabase()).url,
    )
    stack.defer(() => programs[Symbol.asyncDispose]())
    const call = createCall(`http://127.0.0.1:${plane.port}`, root)
    await pushManifests(call, everything.manifests)
    const targetOf = createTargets(call, gateway.port, root)
    const targets = await queueLookups(names, 1, targetOf)
    const lines = targets.map((target) => connectLine(target))
    for (const line of lines) stack.defer(() => line.close())
    await Promise.all(targets.map(isInForce))
    const agents = lines.map((line, at) => ({ name: names[at] ?? '', line }))
    const [line] = lines
    if (line === undefined) throw new Error('a world has at least one agent')
    const kept = stack.move()
    return {
      ...{ everything, agents, line, log: programs.log },
      api: (path) => call('GET', path),
      ...control,
      [Symbol.asyncDispose]: () => kept.disposeAsync(),
    }
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}

/** Returns a function that creates an agent, and returns the gateway as that agent reaches it. */
function createTargets(call: Call, port: number, root: string): (name: string) => Promise<Target> {
  return async (name) => {
    const agent = await call('POST', '/api/dashboard/agents', { name, runtime: 'test', environment: 'test' })
    const key = Buffer.from(`${name}:${String(agent['api_key'])}`).toString('base64')
    return {
      ...{ port, via: 'connect', proxyAuthorization: `Basic ${key}` },
      ca: readFileSync(join(root, 'gateway/ca.crt'), 'utf8'),
    }
  }
}

async function startPrograms(
  { controlPlane, gateway: ofGateway, newer, words }: SkewOptions,
  root: string,
  url: string,
) {
  const secret = (name: string) => {
    const file = join(root, name)
    writeFileSync(file, `${name}-0123456789abcdef0123456789abcdef\n`, { mode: 0o600 })
    return file
  }
  const programs = createPrograms()
  try {
    const enrolment = secret('enrolment')
    const plane = await programs.start(controlPlane.controlplane, {
      DATABASE_URL: url,
      MASTER_KEY: '0123456789abcdef'.repeat(4),
      ADMIN_TOKEN_FILE: join(root, 'admin'),
      LOCAL_GATEWAY_TOKEN_FILE: enrolment,
      OPERATOR_TOKEN_FILE: secret('operator'),
      ...(newer === undefined ? {} : { NEWER_FIELDS: JSON.stringify(newer) }),
    })
    const relay = await startTcpRelay(`http://127.0.0.1:${plane.port}`)
    programs.closes(relay)
    const startGateway = (of: Programs) =>
      programs.start(of.sidecar, {
        CONTROL_PLANE_URL: relay.url,
        GATEWAY_TOKEN_FILE: enrolment,
        DATA_DIR: join(root, 'gateway'),
        ...(words === undefined ? {} : { NEWER_WORDS: JSON.stringify(words) }),
      })
    const gateway = await startGateway(ofGateway)
    return {
      ...{ programs, plane, gateway, disconnectGateway: relay.refuse },
      async replaceGateway(by: Programs) {
        await gateway.kill()
        await relay.restore()
        await startGateway(by)
      },
    }
  } catch (error) {
    await programs[Symbol.asyncDispose]()
    throw error
  }
}

type Ready = { readonly port: number }
/** `kill` sends SIGKILL, and waits for the end of the process. */
type Started = Ready & { readonly kill: () => Promise<void> }

function createPrograms() {
  const children: ChildProcess[] = []
  const others = new AsyncDisposableStack()
  let output = ''
  return {
    log: () => output,
    closes: (other: AsyncDisposable) => void others.use(other),
    async start(file: string, env: Readonly<Record<string, string>>): Promise<Started> {
      const child = fork(file, {
        env: { ...PROGRAM_ENV, PORT: '0', ...env },
        stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      })
      children.push(child)
      for (const stream of [child.stdout, child.stderr]) {
        stream?.on('data', (chunk: Buffer) => {
          output += String(chunk)
        })
      }
      return new Promise((resolve, reject) => {
        child.once('message', (message: { readonly type: string } & Ready) =>
          message.type === 'ready'
            ? resolve({ ...message, kill: () => ended(child, 'SIGKILL') })
            : reject(new Error(`${file}: ${JSON.stringify(message)}`)),
        )
        child.once('exit', (code) => reject(new Error(`${file} ended with ${code}:\n${output}`)))
      })
    },
    async [Symbol.asyncDispose]() {
      // The gateway first: it sends the rest of its records.
      for (const child of children.reverse()) {
        if (child.exitCode !== null || child.signalCode !== null) continue
        await ended(child, 'SIGTERM')
      }
      await others.disposeAsync()
    },
  }
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const gone = once(child, 'exit')
  child.kill(signal)
  await gone
}

type Call = (method: string, path: string, body?: unknown) => Promise<Json>

function createCall(url: string, root: string): Call {
  return async (method, path, body) => {
    const token = readFileSync(
      join(root, path.startsWith('/api/operator/') ? 'operator' : 'admin'),
      'utf8',
    ).trim()
    const answer = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return JSON.parse(text) as Json
  }
}

type Manifest = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec?: { readonly credential?: { readonly secretRef: { readonly key: string } } }
  readonly stringData?: Readonly<Record<string, string>>
}

/** Pushes the manifests as an operator does. */
async function pushManifests(call: Call, text: string): Promise<void> {
  const manifests = parseAllDocuments(text).map((document) => document.toJS() as Manifest)
  const secrets = Object.assign({}, ...manifests.map(({ stringData = {} }) => stringData)) as Record<
    string,
    string
  >
  const objects = manifests
    .filter(({ kind }) => kind !== 'Secret')
    .map(({ apiVersion, kind, metadata, spec }) => {
      const key = spec?.credential?.secretRef.key
      return {
        ...{ uid: `file:${kind}/${metadata.name}`, generation: 1, source: 'file', managed_by: 'all.yaml' },
        resource: {
          apiVersion,
          kind,
          metadata: { ...metadata, namespace: 'default' },
          spec: stored(kind, spec),
        },
        ...(key === undefined ? {} : { credential: secrets[key] ?? null }),
      }
    })
  const { replies } = (await call('POST', '/api/operator/changes', { source: 'file', objects })) as {
    readonly replies: ReadonlyArray<{ readonly accepted: boolean; readonly reasons: readonly string[] }>
  }
  const refused = replies.filter(({ accepted }) => !accepted)
  if (refused.length > 0) throw new Error(`manifests refused: ${JSON.stringify(refused)}`)
}

/** A spec as the operator pushes what the API server stores, with the defaults of this tree. */
function stored(kind: string, spec: unknown): unknown {
  return kind === 'Gateway' ? withoutDefaults(kind, GatewaySpec.parse(spec)) : spec
}

/** Host of the probe, which no connector owns: its records are none of the test's. */
export const PROBED_HOST = 'nobody.invalid'

/** Waits until the gateway knows the agent, which was created last. */
async function isInForce({ port, proxyAuthorization }: Target): Promise<void> {
  const probe = requestBytes('GET', `http://${PROBED_HOST}/`, [
    ['Host', PROBED_HOST],
    ['Proxy-Authorization', proxyAuthorization ?? ''],
  ])
  await eventually('the gateway knows the agent', async () => {
    const socket = await openSocket(port)
    const { status } = await sendRaw(socket, probe).finally(() => socket.destroy())
    return isBeforeConfiguration(status) ? null : status
  })
}
