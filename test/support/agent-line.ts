import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import type { Duplex } from 'node:stream'
import { type AgentRequest, bytesOf, type Headers, sendHttp2 } from './agent.ts'
import { type RawAnswer, sendRaw } from './raw-http.ts'
import { openSocket, openTunnel, type Target } from './tunnel.ts'

/**
 * Client of the gateway that keeps one connection for each host open between requests. A closed connection is opened again.
 */
export type AgentLine = {
  send(request: AgentRequest): Promise<RawAnswer>
  close(): void
}

/**
 * Creates a client that sends HTTP/1.1 inside CONNECT and TLS. `tunnelHost` is the authority of the CONNECT request when the
 * request inside names another host.
 */
export function connectLine(target: Target, tunnelHost?: string): AgentLine {
  return http1Line(
    (request) => tunnelHost ?? request.host,
    (host) => openTunnel(target, host),
    (request) => bytesOf(request, request.target),
  )
}

/** Creates a client that sends requests in absolute form to the proxy port. */
export function absoluteLine(target: Target): AgentLine {
  const auth: Headers =
    target.proxyAuthorization === undefined ? [] : [['Proxy-Authorization', target.proxyAuthorization]]
  return http1Line(
    () => 'proxy',
    () => openSocket(target.port),
    (request) => bytesOf(request, `https://${request.host}${request.target}`, auth),
  )
}

function http1Line(
  keyOf: (request: AgentRequest) => string,
  open: (key: string) => Promise<Duplex>,
  encode: (request: AgentRequest) => Buffer,
): AgentLine {
  const sockets = new Map<string, Duplex>()
  const socketFor = async (key: string): Promise<Duplex> => {
    const known = sockets.get(key)
    if (known !== undefined && !known.destroyed && !known.readableEnded) return known
    const socket = await open(key)
    socket.on('error', () => socket.destroy())
    sockets.set(key, socket)
    return socket
  }
  return {
    async send(request) {
      const key = keyOf(request)
      const socket = await socketFor(key)
      const answer = await sendRaw(socket, encode(request), { isHead: request.method === 'HEAD' })
      if (answer.status === 101 || answer.headers.get('connection')?.toLowerCase() === 'close') {
        sockets.delete(key)
        socket.destroy()
      }
      return answer
    },
    close() {
      for (const socket of sockets.values()) socket.destroy()
    },
  }
}

/** Creates a client that sends HTTP/2 inside CONNECT and TLS. */
export function http2Line(target: Target): AgentLine {
  const sessions = new Map<string, ClientHttp2Session>()
  const sessionFor = async (host: string): Promise<ClientHttp2Session> => {
    const known = sessions.get(host)
    if (known !== undefined && !known.closed && !known.destroyed) return known
    const socket = await openTunnel(target, host, ['h2'])
    // By default, Node refuses to send single-value header fields twice. An attacker's client can send them twice.
    const options = { createConnection: () => socket, strictSingleValueFields: false }
    const session = connectHttp2(`https://${host}`, options)
    session.on('error', () => session.destroy())
    sessions.set(host, session)
    return session
  }
  return {
    send: async (request) => sendHttp2(await sessionFor(request.host), request),
    close() {
      for (const session of sessions.values()) session.destroy()
    },
  }
}
