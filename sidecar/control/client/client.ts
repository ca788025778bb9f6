import { once } from 'node:events'
import { Agent, type IncomingMessage, type RequestOptions, request as requestPlain } from 'node:http'
import { request as requestTls, Agent as TlsAgent } from 'node:https'
import type { Socket } from 'node:net'
import { PROCESS_HEADER, SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { type CallDeadline, createCallDeadline } from './call-deadline.ts'
import { FileTrustAgent } from './file-trust-agent.ts'

export type ControlReply = { readonly status: number; readonly bytes: Buffer }

/** `bearer`: the token that the stream was opened with; what arrives on it is signed with that one. */
export type StreamReply = {
  readonly status: number
  readonly body: AsyncIterable<Buffer>
  readonly bearer: string
}

/** The gateway's way to its control plane. Every method rejects when it cannot be reached or answers too late. */
export type ControlClient = {
  /** Text and bytes are JSON already. */
  post(path: string, body: object | string | Buffer, timeoutMs?: number): Promise<ControlReply>
  get(path: string, timeoutMs?: number): Promise<ControlReply>
  /** The long-lived answer of the stream; ends when `signal` fires. */
  open(path: string, signal: AbortSignal): Promise<StreamReply>
  /** Later calls get new connections: the open ones may lead to a replica that the stream has left. */
  renew(): void
  close(): Promise<void>
}

export type ClientDeps = {
  readonly url: string
  /** Asked for every call: a projected token is replaced while the process runs. */
  readonly token: string | (() => Promise<string>)
  readonly processId: string
  /** Further headers of every call. */
  readonly headers?: Readonly<Record<string, string>>
  /** PEM file with the only authorities that may vouch for the control plane; read for every connection. */
  readonly caFile?: string | null
  /** How long a call may wait for one of the few connections. Default 60 s: a thousand holds may begin at once. */
  readonly maxWaitMs?: number
}

const DEFAULT_TIMEOUT_MS = 5_000
const MAX_WAIT_MS = 60_000
const CONNECT_TIMEOUT_MS = 3_000
const STREAM_HEAD_MS = 10_000
const KEEP_ALIVE_MS = 10_000
const MAX_CALLS = 8
/**
 * Each pool has connections of its own. `bulk`: comes by the hundred. `urgent`: kill switches and their acknowledgements,
 * which a control plane without its database still answers while all other calls hang.
 */
type Pool = 'urgent' | 'prompt' | 'bulk'
const POOLS: ReadonlyMap<string, Pool> = new Map([
  [SYNC_PATHS.ack, 'urgent'],
  [SYNC_PATHS.commands, 'urgent'],
  [SYNC_PATHS.holds, 'bulk'],
  [SYNC_PATHS.records, 'bulk'],
])

type Call = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: string | Buffer | null
  readonly signal: AbortSignal
  readonly agent: Agent
  readonly deadline?: CallDeadline
}

/** Node's own client: a gateway sits beside every agent, and another one would take 15 MiB of it. */
export function createControlClient(deps: ClientDeps): ControlClient {
  const { token, processId, caFile = null } = deps
  const base = new URL(deps.url.endsWith('/') ? deps.url : `${deps.url}/`)
  const prefix = base.pathname.replace(/\/+$/, '')
  // The stream has a connection of its own, so that it never waits behind a batch of records.
  let agents = { ...callAgents(base, caFile), streams: agentFor(base, caFile, { keepAlive: false }) }
  const underWay = new Set<CallDeadline>()
  const readToken = async (): Promise<string> => (typeof token === 'string' ? token : token())

  function send(
    { method, path, body, signal, agent, deadline }: Call,
    bearer: string,
  ): Promise<IncomingMessage> {
    const headers = {
      ...{ ...deps.headers, authorization: `Bearer ${bearer}`, [PROCESS_HEADER]: processId },
      ...contentHeaders(body),
    }
    const options: RequestOptions = { method, agent, signal, headers, path: prefix + path }
    const request = base.protocol === 'https:' ? requestTls(base, options) : requestPlain(base, options)
    request.once('socket', limitConnect)
    deadline?.watch(request)
    // What goes wrong behind the head is told by the response; here it would end the process.
    request.on('error', ignore)
    request.end(body)
    return once(request, 'response', { signal }).then(([response]) => response as IncomingMessage)
  }

  async function call(
    method: 'GET' | 'POST',
    path: string,
    { body, timeoutMs }: { readonly body: string | Buffer | null; readonly timeoutMs: number },
  ): Promise<ControlReply> {
    const bearer = await readToken()
    const deadline = createCallDeadline(timeoutMs, deps.maxWaitMs ?? MAX_WAIT_MS)
    const { signal } = deadline
    const agent = agents[POOLS.get(path) ?? 'prompt']
    underWay.add(deadline)
    try {
      const response = await send({ method, path, body, signal, agent, deadline }, bearer)
      const parts: Buffer[] = await response.toArray()
      return { status: response.statusCode ?? 0, bytes: Buffer.concat(parts) }
    } catch (error) {
      throw reasonOf(signal, error)
    } finally {
      underWay.delete(deadline)
      deadline.end()
    }
  }

  async function open(path: string, signal: AbortSignal) {
    const bearer = await readToken()
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(tooLate(STREAM_HEAD_MS)), STREAM_HEAD_MS)
    const either = AbortSignal.any([signal, late.signal])
    try {
      const response = await send(
        { method: 'GET', path, body: null, signal: either, agent: agents.streams },
        bearer,
      )
      return { status: response.statusCode ?? 0, body: bodyOf(response, signal), bearer }
    } catch (error) {
      throw reasonOf(either, error)
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    post: (path, body, timeoutMs = DEFAULT_TIMEOUT_MS) =>
      call('POST', path, { body: isJson(body) ? body : JSON.stringify(body), timeoutMs }),
    get: (path, timeoutMs = DEFAULT_TIMEOUT_MS) => call('GET', path, { body: null, timeoutMs }),
    open,
    renew() {
      const { urgent, prompt, bulk } = agents
      agents = { ...agents, ...callAgents(base, caFile) }
      // Calls under way end by themselves.
      for (const socket of [urgent, prompt, bulk].flatMap(freeSocketsOf)) socket.destroy()
    },
    close() {
      for (const deadline of underWay) deadline.cut(new Error('the client of the control plane was closed'))
      for (const agent of Object.values(agents)) agent.destroy()
      return Promise.resolve()
    },
  }
}

function contentHeaders(body: string | Buffer | null) {
  if (body === null) return {}
  return { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
}

function callAgents(base: URL, caFile: string | null): Readonly<Record<Pool, Agent>> {
  const pooled = { keepAlive: true, maxSockets: MAX_CALLS, timeout: KEEP_ALIVE_MS }
  const create = () => agentFor(base, caFile, pooled)
  return { urgent: create(), prompt: create(), bulk: create() }
}

function freeSocketsOf({ freeSockets }: Agent): Socket[] {
  return Object.values(freeSockets).flatMap((sockets) => sockets ?? [])
}

type AgentOptions = { readonly keepAlive: boolean; readonly maxSockets?: number; readonly timeout?: number }

function agentFor(base: URL, caFile: string | null, options: AgentOptions): Agent {
  if (base.protocol !== 'https:') return new Agent(options)
  return caFile === null ? new TlsAgent(options) : new FileTrustAgent(caFile, options)
}

/** A machine that swallows packets would otherwise be waited for as long as the whole call may take. */
function limitConnect(socket: Socket): void {
  if (!socket.connecting) return
  const timer = setTimeout(() => socket.destroy(tooLate(CONNECT_TIMEOUT_MS)), CONNECT_TIMEOUT_MS)
  const done = (): void => clearTimeout(timer)
  socket.once('connect', done).once('close', done)
}

function tooLate(ms: number): Error {
  return new Error(`the control plane did not answer within ${ms / 1_000} s`)
}

async function* bodyOf(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* response
  } catch (error) {
    throw reasonOf(signal, error)
  }
}

/** Who aborted says why; the library would only say that somebody did. */
function reasonOf(signal: AbortSignal, error: unknown): unknown {
  return signal.aborted ? signal.reason : error
}

function ignore(): void {}

function isJson(body: object | string | Buffer): body is string | Buffer {
  return typeof body === 'string' || Buffer.isBuffer(body)
}

/** The reply's JSON, or null when it is none. */
export function jsonOf(reply: ControlReply): unknown {
  try {
    return JSON.parse(reply.bytes.toString('utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
