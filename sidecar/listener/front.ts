import { createServer, type Server, type Socket } from 'node:net'
import type { Credentials, KeyedPort } from '../pipeline/credentials/credentials.ts'
import { explainPort, serveApi } from './api.ts'
import { type ConnectionDeadline, createConnectionDeadlines } from './connection-deadline.ts'
import { createQuotas } from './connection-quotas.ts'
import { rejectConnection } from './connection-rejection.ts'
import type { FrontDeps } from './deps.ts'
import { Http1Connection } from './http1/connection.ts'
import type { Incoming, RequestHandler } from './http1/incoming.ts'
import { type PortOwner, serveAbsolute, serveConnect, unreadCredentials } from './proxy.ts'
import { type Sniffed, sniff } from './sniff.ts'
import { terminateTls } from './terminate-tls.ts'
import { contextFor, enterTunnel } from './tunnel.ts'

export type Front = {
  /** Opens the shared port and resolves with its number. Port 0 selects a free port. */
  listen(port: number, host: string): Promise<number>
  /**
   * Opens an agent's own proxy port on loopback and resolves with its number. With `accepts`, clients must present a
   * key; without `accepts`, the port alone identifies the agent (a pod). Rejects when the port is taken.
   */
  openAgentPort(agent: string, port?: number, accepts?: KeyedPort['accepts']): Promise<number>
  closeAgentPort(agent: string): Promise<void>
  /** Listens on one more address and passes accepted connections to `arrive`, for example redirected connections. */
  openListener(address: ListenAddress, arrive: (arrival: AcceptedConnection) => void): Promise<void>
  /** Closes the listeners and idle connections, lets other connections finish for `graceMs`, then destroys them. */
  close(graceMs: number): Promise<void>
  readonly connections: number
}

/** Address and port, or the path of a Unix socket. */
export type ListenAddress = { readonly port: number; readonly host: string } | { readonly path: string }
export type AcceptedConnection = { readonly socket: Socket; readonly deadline: ConnectionDeadline }

/** Handler of accepted connections of one listener, and the credentials for the record of a rejected connection. */
type Reception = { readonly credentials: Credentials; readonly arrive: (arrival: AcceptedConnection) => void }

const NOBODY: Credentials = { kind: 'none' }
const LOOPBACK = '127.0.0.1'

/**
 * Creates the listeners for agents and operators. A listener accepts connections, detects the protocol by the first
 * bytes, and serves it.
 */
export function createFront(deps: FrontDeps): Front {
  const { limits } = deps
  const quotas = createQuotas(limits, deps.onQuota)
  const shortestMs = Math.min(limits.headTimeoutMs, limits.idleTimeoutMs, limits.unauthenticatedTimeoutMs)
  const deadlines = createConnectionDeadlines(Math.max(10, Math.min(1_000, shortestMs / 4)), quotas)
  const shared = new Set<Server>()
  const agents = new Map<string, AgentPort>()

  function accept(socket: Socket, { credentials, arrive }: Reception): void {
    socket.on('error', (error) => deps.log.debug({ err: error }, 'client connection failed'))
    const deadline = deadlines.add(socket)
    // A port of one agent counts the connection for that agent immediately. On any other port, the connection counts
    // for the agent that its first request identifies, once that request has arrived.
    const detail = credentials.kind === 'port' ? deadline.slot.claim(credentials.agent) : null
    if (detail === null) arrive({ socket, deadline })
    else rejectConnection(deps, { socket, deadline, credentials, detail })
  }

  function asProxy(owner: PortOwner): Reception {
    return {
      credentials: unreadCredentials(owner),
      arrive({ socket, deadline }) {
        if (owner !== null) keepWhileOpen(agents.get(owner.agent)?.deadlines, deadline)
        sniff(socket, deadline, limits, (what) => serve(deps, { socket, deadline, owner }, what))
      },
    }
  }

  async function open(address: ListenAddress, reception: Reception): Promise<Server> {
    const server = createServer({ allowHalfOpen: true, noDelay: true, keepAlive: true }, (socket) =>
      accept(socket, reception),
    )
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ ...address, backlog: 1024 }, resolve)
    })
    server.on('error', (error) => deps.log.error({ err: error }, 'listener failed'))
    return server
  }

  return {
    get connections() {
      return quotas.size
    },
    async listen(port, host) {
      const server = await open({ port, host }, asProxy(null))
      shared.add(server)
      return portOf(server)
    },
    async openAgentPort(agent, port = 0, accepts) {
      if (agents.has(agent)) throw new Error(`the agent ${agent} already has a port`)
      const server = await open(
        { port, host: LOOPBACK },
        asProxy(accepts === undefined ? { agent } : { agent, accepts }),
      )
      agents.set(agent, { server, deadlines: new Set() })
      return portOf(server)
    },
    async closeAgentPort(agent) {
      const port = agents.get(agent)
      agents.delete(agent)
      port?.server.close()
      for (const deadline of port?.deadlines ?? []) deadline.drain()
    },
    async openListener(address, arrive) {
      shared.add(await open(address, { credentials: NOBODY, arrive }))
    },
    async close(graceMs) {
      for (const server of shared) server.close()
      for (const { server } of agents.values()) server.close()
      await deadlines.close(graceMs)
    },
  }
}

type AgentPort = { readonly server: Server; readonly deadlines: Set<ConnectionDeadline> }

function keepWhileOpen(open: Set<ConnectionDeadline> | undefined, deadline: ConnectionDeadline): void {
  open?.add(deadline)
  deadline.socket.once('close', () => open?.delete(deadline))
}

type Arrival = { readonly socket: Socket; readonly deadline: ConnectionDeadline; readonly owner: PortOwner }

function serve(deps: FrontDeps, { socket, deadline, owner }: Arrival, what: Sniffed): void {
  if (what.protocol === 'none') socket.destroySoon()
  else if (what.protocol !== 'tls') http1(deps, socket, deadline, owner).start(what.bytes)
  // On a port that requires a key, TLS is a connection to the proxy itself: the client presents the key inside TLS.
  else if (owner === null || owner.accepts !== undefined) secureProxy(deps, { socket, deadline, owner }, what)
  else enterTunnel(deps, directTls(socket, deadline, owner, what.serverName), what)
}

/**
 * Describes a direct TLS connection on the port of a pod's agent. A client opens such a connection when packet rules or
 * a hosts file redirect its traffic to the port. The server name determines the destination.
 */
function directTls(
  socket: Socket,
  deadline: ConnectionDeadline,
  owner: { readonly agent: string },
  name: string | null,
) {
  const credentials = { kind: 'port', agent: owner.agent } as const
  return {
    socket,
    deadline,
    credentials,
    sources: {},
    host: name ?? socket.localAddress ?? LOOPBACK,
    isPort: true,
  }
}

/**
 * Terminates TLS of a client that uses the gateway as an `https://` proxy. Requests inside TLS are served as on the
 * same port without TLS.
 */
function secureProxy(
  deps: FrontDeps,
  { socket, deadline, owner }: Arrival,
  hello: Sniffed & { protocol: 'tls' },
): void {
  const name = hello.serverName ?? socket.localAddress?.replace(/^::ffff:/, '') ?? LOOPBACK
  const context = contextFor(deps, name)
  if (typeof context === 'string') {
    deps.log.debug({ detail: context }, 'TLS with a client failed')
    socket.destroySoon()
    return
  }
  const options = {
    context,
    protocols: ['http/1.1'],
    deadline,
    timeoutMs: deps.limits.headTimeoutMs,
  }
  terminateTls(socket, hello.bytes, options, (result) => {
    if (result.kind === 'secure') http1(deps, result.socket, deadline, owner).start(null)
    else deps.log.debug({ detail: result.detail }, 'TLS with a client failed')
  })
}

function http1(
  deps: FrontDeps,
  socket: Socket,
  deadline: ConnectionDeadline,
  owner: PortOwner,
): Http1Connection {
  return new Http1Connection(socket, {
    handler: owner === null ? sharedPortHandler(deps) : agentPortHandler(deps, owner),
    deadline,
    idleTimeoutMs: deps.limits.idleTimeoutMs,
    headTimeoutMs: deps.limits.headTimeoutMs,
    onFailure: (error) => deps.log.error({ err: error }, 'exchange failed'),
  })
}

function sharedPortHandler(deps: FrontDeps): RequestHandler {
  return (incoming) => {
    const { method } = incoming.head
    if (method === 'CONNECT') return serveConnect(deps, incoming, null)
    return isOriginForm(incoming) ? serveApi(deps, incoming) : serveAbsolute(deps, incoming, null)
  }
}

function agentPortHandler(deps: FrontDeps, owner: { readonly agent: string }): RequestHandler {
  return (incoming) => {
    const { method } = incoming.head
    if (method === 'CONNECT') return serveConnect(deps, incoming, owner)
    return isOriginForm(incoming) ? explainPort(incoming) : serveAbsolute(deps, incoming, owner)
  }
}

function isOriginForm({ head: { target }, problem }: Incoming): boolean {
  return problem === null && (target.startsWith('/') || target === '*')
}

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the listener has no port')
  return address.port
}
