import { readFile } from 'node:fs/promises'
import { Agent, buildConnector, request } from 'undici'
import { PROCESS_HEADER } from '../../core/wire/sync.ts'

export type ControlReply = { readonly status: number; readonly bytes: Buffer }

/** The gateway's way to its control plane. Every method rejects when it cannot be reached or answers too late. */
export type ControlClient = {
  /** Text and bytes are JSON already. */
  post(path: string, body: object | string | Buffer, timeoutMs?: number): Promise<ControlReply>
  get(path: string, timeoutMs?: number): Promise<ControlReply>
  /** The long-lived answer of the stream; ends when `signal` fires. */
  open(path: string, signal: AbortSignal): Promise<{ status: number; body: AsyncIterable<Buffer> }>
  close(): Promise<void>
}

export type ClientDeps = {
  readonly url: string
  /** Asked for every call: a projected token is replaced while the process runs. */
  readonly token: string | (() => Promise<string>)
  readonly processId: string
  /** Further headers of every call: which pod speaks. */
  readonly headers?: Readonly<Record<string, string>>
  /** PEM file with the only authorities that may vouch for the control plane; read for every connection. */
  readonly caFile?: string | null
  /** Told the token that a stream is opened with: what arrives on it is signed with that one. */
  readonly onStream?: (token: string) => void
}

const DEFAULT_TIMEOUT_MS = 5_000
const CONNECT_TIMEOUT_MS = 3_000

export function createControlClient(deps: ClientDeps): ControlClient {
  const { token, processId, caFile = null } = deps
  const base = deps.url.replace(/\/+$/, '')
  const connect = caFile === null ? { timeout: CONNECT_TIMEOUT_MS } : connectorFor(caFile)
  // The stream has a connection of its own, so that it never waits behind a batch of records.
  const calls = new Agent({ connections: 8, connect, keepAliveTimeout: 10_000 })
  const streams = new Agent({ connect, bodyTimeout: 0, headersTimeout: 10_000 })
  const readToken = async (): Promise<string> => (typeof token === 'string' ? token : token())
  const headersFor = (bearer: string) => ({
    ...deps.headers,
    authorization: `Bearer ${bearer}`,
    [PROCESS_HEADER]: processId,
  })

  const call = async (
    method: 'GET' | 'POST',
    path: string,
    options: { readonly body: string | Buffer | null; readonly timeoutMs: number },
  ): Promise<ControlReply> => {
    const headers = headersFor(await readToken())
    const reply = await request(base + path, {
      method,
      headers: options.body === null ? headers : { ...headers, 'content-type': 'application/json' },
      body: options.body,
      dispatcher: calls,
      signal: AbortSignal.timeout(options.timeoutMs),
    })
    return { status: reply.statusCode, bytes: Buffer.from(await reply.body.arrayBuffer()) }
  }

  return {
    post: (path, body, timeoutMs = DEFAULT_TIMEOUT_MS) =>
      call('POST', path, { body: isJson(body) ? body : JSON.stringify(body), timeoutMs }),
    get: (path, timeoutMs = DEFAULT_TIMEOUT_MS) => call('GET', path, { body: null, timeoutMs }),
    async open(path, signal) {
      const bearer = await readToken()
      deps.onStream?.(bearer)
      const headers = headersFor(bearer)
      const reply = await request(base + path, { method: 'GET', headers, dispatcher: streams, signal })
      return { status: reply.statusCode, body: reply.body }
    },
    async close() {
      await Promise.all([calls.destroy(), streams.destroy()])
    },
  }
}

/** Authorities are renewed while the process runs, like the token: each connection reads them anew. */
function connectorFor(caFile: string): buildConnector.connector {
  return (options, callback) => {
    readFile(caFile, 'utf8').then(
      (ca) => buildConnector({ ca, timeout: CONNECT_TIMEOUT_MS })(options, callback),
      (cause: unknown) => {
        const message = `CONTROL_PLANE_CA_FILE: ${caFile} cannot be read. Set it to a PEM file with the control plane's authority.`
        callback(new Error(message, { cause }), null)
      },
    )
  }
}

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
