import { once } from 'node:events'
import { Agent, type IncomingMessage, type RequestOptions, request as requestPlain } from 'node:http'
import { request as requestTls, Agent as TlsAgent } from 'node:https'
import type { LookupFunction, Socket } from 'node:net'
import { pinnedLookup, type Resolve } from '../../../core/request/outbound-address.ts'
import { PROTOCOL_HEADER, VERSION_HEADER } from '../../../core/wire/gateway/greeting.ts'
import { PROTOCOL } from '../../../core/wire/gateway/sections/field-additions.ts'
import { PROCESS_HEADER, SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { VERSION } from '../../process/version.ts'
import { type CallDeadline, createCallDeadline } from './call-deadline.ts'
import { FileTrustAgent } from './file-trust-agent.ts'
import { createTimeLimits, type TimeLimits } from './time-limits.ts'

export type ControlReply = { readonly status: number; readonly bytes: Buffer }

/**
 * Response that opens the stream. `bearer` is the token of the request, with which the control plane signs the messages
 * of the stream. `retryAfterS`: the header `Retry-After` in seconds; absent when the header is missing or not a whole
 * number.
 */
export type StreamReply = {
  readonly status: number
  readonly retryAfterS?: number
  readonly body: AsyncIterable<Buffer>
  readonly bearer: string
}

/**
 * Client of the control plane. Every method rejects when the control plane is unreachable or exceeds the time limit.
 */
export type ControlClient = {
  /** Sends a POST. An object is encoded as JSON; a string or bytes must be JSON already. */
  post(path: string, body: object | string | Buffer, timeoutMs?: number): Promise<ControlReply>
  get(path: string, timeoutMs?: number): Promise<ControlReply>
  /** Opens the long-lived response of the stream. The response ends when `signal` is aborted. */
  open(path: string, signal: AbortSignal): Promise<StreamReply>
  /** Makes later calls use new connections, because the open ones may lead to the replica that the stream has left. */
  renew(): void
  close(): Promise<void>
}

export type ClientDeps = {
  readonly url: string
  /**
   * Token, or a function that reads it. The function is called for every call, because a projected token is rotated
   * while the process runs.
   */
  readonly token: string | (() => Promise<string>)
  readonly processId: string
  /** Additional headers of every call. */
  readonly headers?: Readonly<Record<string, string>>
  /** PEM file with the only trusted CA certificates of the control plane; read for every connection. */
  readonly caFile?: string | null
  /** Resolver for the host name of the control plane. Absent: the resolver of the system. */
  readonly resolve?: Resolve
  /**
   * Limit in milliseconds of the wait for a free connection. 60 s unless set: a thousand holds may start at the same
   * time.
   */
  readonly maxWaitMs?: number
  /**
   * Returns true until the gateway has its first rules. Exceeded time limits grow until then. Absent: they never grow.
   */
  readonly isStarting?: () => boolean
}

const DEFAULT_TIMEOUT_MS = 5_000
const MAX_WAIT_MS = 60_000
const CONNECT_TIMEOUT_MS = 3_000
const STREAM_HEAD_MS = 10_000
const KEEP_ALIVE_MS = 10_000
const MAX_CALLS = 8
/**
 * Pools with separate connections. `urgent`: kill switches and their acknowledgements, which a control plane answers
 * without its database while all other calls hang. `bulk`: holds and records, of which hundreds may be sent at the same
 * time. `prompt`: all other calls.
 */
type Pool = 'urgent' | 'prompt' | 'bulk'
const POOLS: ReadonlyMap<string, Pool> = new Map([
  [SYNC_PATHS.ack, 'urgent'],
  [SYNC_PATHS.commands, 'urgent'],
  [SYNC_PATHS.holds, 'bulk'],
  [SYNC_PATHS.records, 'bulk'],
])

const GREETING = { [PROTOCOL_HEADER]: String(PROTOCOL), [VERSION_HEADER]: VERSION }

type Call = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: string | Buffer | null
  readonly signal: AbortSignal
  readonly agent: Agent
  readonly deadline?: CallDeadline
}

/**
 * Creates a client on `node:http`. Another HTTP client would add 15 MiB to every gateway, and a gateway runs beside
 * every agent.
 */
export function createControlClient(deps: ClientDeps): ControlClient {
  const { token, processId } = deps
  const place = placeOf(deps)
  const prefix = place.base.pathname.replace(/\/+$/, '')
  // The stream has its own connection, so that it never queues behind a batch of records.
  let agents = { ...callAgents(place), streams: agentFor(place, { keepAlive: false }) }
  const inFlight = new Set<CallDeadline>()
  const limits = createTimeLimits(deps.isStarting ?? (() => false))
  const readToken = async (): Promise<string> => (typeof token === 'string' ? token : token())

  function send(
    { method, path, body, signal, agent, deadline }: Call,
    bearer: string,
  ): Promise<IncomingMessage> {
    const headers = {
      ...{ ...deps.headers, ...GREETING, authorization: `Bearer ${bearer}`, [PROCESS_HEADER]: processId },
      ...contentHeaders(body),
    }
    const options: RequestOptions = { method, agent, signal, headers, path: prefix + path }
    const request = requestTo(place.base, options)
    request.once('socket', (socket) => limitConnect(socket, limits))
    deadline?.watch(request)
    // After the response head, Node emits errors on the response. An `error` event on the request without a listener
    // would end the process.
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
    const deadline = createCallDeadline(timeoutMs, deps.maxWaitMs ?? MAX_WAIT_MS, limits)
    const [{ signal }, agent] = [deadline, agents[POOLS.get(path) ?? 'prompt']]
    inFlight.add(deadline)
    try {
      const response = await send({ method, path, body, signal, agent, deadline }, bearer)
      const parts: Buffer[] = await response.toArray()
      return { status: response.statusCode ?? 0, bytes: Buffer.concat(parts) }
    } catch (error) {
      throw reasonOf(signal, error)
    } finally {
      inFlight.delete(deadline)
      deadline.end()
    }
  }

  async function open(path: string, signal: AbortSignal) {
    const bearer = await readToken()
    const late = new AbortController()
    const timer = limits.after(STREAM_HEAD_MS, (limitMs) => late.abort(tooLate(limitMs)))
    const either = AbortSignal.any([signal, late.signal])
    try {
      const response = await send(
        { method: 'GET', path, body: null, signal: either, agent: agents.streams },
        bearer,
      )
      return { ...headOf(response), body: bodyOf(response, signal), bearer }
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
      agents = { ...agents, ...callAgents(place) }
      // Only idle connections are destroyed, so that calls in flight can finish.
      for (const socket of [urgent, prompt, bulk].flatMap(freeSocketsOf)) socket.destroy()
    },
    close() {
      for (const deadline of inFlight) deadline.cut(new Error(CLOSED))
      for (const agent of Object.values(agents)) agent.destroy()
      return Promise.resolve()
    },
  }
}

function headOf({ statusCode, headers }: IncomingMessage): Pick<StreamReply, 'status' | 'retryAfterS'> {
  const status = statusCode ?? 0
  const value = headers['retry-after']
  return value !== undefined && /^\d+$/.test(value) ? { status, retryAfterS: Number(value) } : { status }
}

function contentHeaders(body: string | Buffer | null) {
  if (body === null) return {}
  return { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
}

function callAgents(place: Place): Readonly<Record<Pool, Agent>> {
  const pooled = { keepAlive: true, maxSockets: MAX_CALLS, timeout: KEEP_ALIVE_MS }
  const create = () => agentFor(place, pooled)
  return { urgent: create(), prompt: create(), bulk: create() }
}

function freeSocketsOf({ freeSockets }: Agent): Socket[] {
  return Object.values(freeSockets).flatMap((sockets) => sockets ?? [])
}

type AgentOptions = { readonly keepAlive: boolean; readonly maxSockets?: number; readonly timeout?: number }
type Place = { readonly base: URL; readonly caFile: string | null; readonly resolve: Resolve | undefined }

function requestTo(base: URL, options: RequestOptions) {
  return base.protocol === 'https:' ? requestTls(base, options) : requestPlain(base, options)
}

function placeOf({ url, caFile = null, resolve }: ClientDeps): Place {
  return { base: new URL(url.endsWith('/') ? url : `${url}/`), caFile, resolve }
}

function agentFor({ base, caFile, resolve }: Place, given: AgentOptions): Agent {
  const options = resolve === undefined ? given : { ...given, lookup: lookupBy(resolve) }
  if (base.protocol !== 'https:') return new Agent(options)
  return caFile === null ? new TlsAgent(options) : new FileTrustAgent(caFile, options)
}

function lookupBy(resolve: Resolve): LookupFunction {
  return (host, options, done) => {
    resolve(host).then(
      (addresses) => pinnedLookup(addresses)(host, options, done),
      (error: NodeJS.ErrnoException) => done(error, []),
    )
  }
}

/**
 * Sets a time limit for connecting. A host that drops packets would otherwise block the call for its whole time limit.
 */
function limitConnect(socket: Socket, limits: TimeLimits): void {
  if (!socket.connecting) return
  const timer = limits.after(CONNECT_TIMEOUT_MS, (limitMs) => socket.destroy(tooLate(limitMs)))
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

/** Returns the reason of the abort instead of Node's error, which states only that the call was aborted. */
function reasonOf(signal: AbortSignal, error: unknown): unknown {
  return signal.aborted ? signal.reason : error
}

const CLOSED = 'the gateway is stopping and closed its connections to the control plane'

function ignore(): void {}

function isJson(body: object | string | Buffer): body is string | Buffer {
  return typeof body === 'string' || Buffer.isBuffer(body)
}

/** Returns the JSON of the reply, or null when it is not JSON. */
export function jsonOf(reply: ControlReply): unknown {
  try {
    return JSON.parse(reply.bytes.toString('utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
