import { ChaperoneError } from '../../core/errors.ts'
import type { RawHeaders } from '../../core/request/canonical.ts'
import type { FrontDeps } from './deps.ts'
import type { Incoming } from './http1/incoming.ts'

const MAX_BODY_BYTES = 1024 * 1024
const JSON_TYPE: RawHeaders = ['Content-Type', 'application/json']

/** Serves a request to the gateway's own API. The API reads the body only after it has verified the token. */
export async function serveApi(deps: FrontDeps, { head, body, reply, connection }: Incoming): Promise<void> {
  const question = head.target.indexOf('?')
  const { slot, socket } = connection.deadline
  const answer = await deps.api({
    method: head.method,
    path: question === -1 ? head.target : head.target.slice(0, question),
    query: question === -1 ? '' : head.target.slice(question + 1),
    headers: head.rawHeaders,
    readBody: () => readWithin(body, deps.limits.headTimeoutMs),
    onAuthenticated: slot.trust,
    remoteAddress: socket.remoteAddress ?? '',
    local: { address: socket.localAddress ?? '', port: socket.localPort ?? 0 },
  })
  reply.send(answer.status, answer.headers, answer.body)
}

async function readWithin(body: Incoming['body'], ms: number): Promise<Buffer> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const detail = `The body was not complete after ${ms} ms. Send the request again.`
    timer = setTimeout(() => reject(new ChaperoneError('malformed_request', { detail })), ms)
  })
  try {
    const whole = await Promise.race([body.buffer(MAX_BODY_BYTES), late])
    if (whole !== null) return whole
  } finally {
    clearTimeout(timer)
  }
  const detail = `The body of this API is limited to ${MAX_BODY_BYTES} bytes.`
  throw new ChaperoneError('body_too_large', { detail })
}

/**
 * Answers 404 with the explanation that the port is a proxy. An origin-form request on the port of an agent comes from
 * a browser, or from a client without proxy configuration.
 */
export function explainPort({ reply, connection }: Incoming): Promise<void> {
  const address = `http://NAME:KEY@127.0.0.1:${connection.deadline.socket.localPort ?? 0}`
  const message =
    'this port is a proxy, not a web server; start the program with "chaperone run", or set HTTPS_PROXY and HTTP_PROXY to ' +
    `${address} (proxy_url of "chaperone status --json")`
  sendJson(reply, 404, 'Not found', message)
  return Promise.resolve()
}

function sendJson(reply: Incoming['reply'], status: number, error: string, message: string): void {
  reply.send(status, JSON_TYPE, JSON.stringify({ error, message }))
}
