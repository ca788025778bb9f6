import { Agent, request } from 'undici'
import { PROCESS_HEADER } from '../../core/wire/sync.ts'

export type ControlReply = { readonly status: number; readonly bytes: Buffer }

/** The gateway's way to its control plane. Every method rejects when it cannot be reached or answers too late. */
export type ControlClient = {
  post(path: string, body: object | string, timeoutMs?: number): Promise<ControlReply>
  get(path: string, timeoutMs?: number): Promise<ControlReply>
  /** The long-lived answer of the stream; ends when `signal` fires. */
  open(path: string, signal: AbortSignal): Promise<{ status: number; body: AsyncIterable<Buffer> }>
  close(): Promise<void>
}

export type ClientDeps = { readonly url: string; readonly token: string; readonly processId: string }

const DEFAULT_TIMEOUT_MS = 5_000

export function createControlClient({ url, token, processId }: ClientDeps): ControlClient {
  const base = url.replace(/\/+$/, '')
  // The stream has a connection of its own, so that it never waits behind a batch of records.
  const calls = new Agent({ connections: 8, connectTimeout: 3_000, keepAliveTimeout: 10_000 })
  const streams = new Agent({ connectTimeout: 3_000, bodyTimeout: 0, headersTimeout: 10_000 })
  const headers = { authorization: `Bearer ${token}`, [PROCESS_HEADER]: processId }

  const call = async (
    method: 'GET' | 'POST',
    path: string,
    options: { readonly body: string | null; readonly timeoutMs: number },
  ): Promise<ControlReply> => {
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
      call('POST', path, { body: typeof body === 'string' ? body : JSON.stringify(body), timeoutMs }),
    get: (path, timeoutMs = DEFAULT_TIMEOUT_MS) => call('GET', path, { body: null, timeoutMs }),
    async open(path, signal) {
      const reply = await request(base + path, { method: 'GET', headers, dispatcher: streams, signal })
      return { status: reply.statusCode, body: reply.body }
    },
    async close() {
      await Promise.all([calls.destroy(), streams.destroy()])
    },
  }
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
