import { parseAuthority } from '../../core/request/authority.ts'
import { splitAuthority } from '../../core/request/authority-text.ts'
import { isRefusal, type RawHeaders } from '../../core/request/canonical.ts'
import { headerValue } from '../../core/request/headers/headers.ts'
import type { Credentials, KeyedPort } from '../pipeline/credentials/credentials.ts'
import { Exchange, type ExchangeKind, type Transport } from '../pipeline/exchange.ts'
import type { Reply } from '../pipeline/reply.ts'
import type { FrontDeps } from './deps.ts'
import type { Problem } from './http1/framing.ts'
import type { Incoming } from './http1/incoming.ts'
import { openTunnel } from './tunnel.ts'
import { refusingDeps } from './tunnel-refusal.ts'

/**
 * Agent to which a port belongs; null for the shared port. On a port with `accepts`, clients must present a key;
 * without `accepts`, the port alone identifies the agent.
 */
export type PortOwner = ({ readonly agent: string } & Partial<KeyedPort>) | null

type Authority = { readonly host: string; readonly port: number }

const ESTABLISHED = 'HTTP/1.1 200 Connection Established\r\n\r\n'
const NO_SOURCES = Object.freeze({})

/** Handles CONNECT: opens the tunnel and serves the requests inside, or runs the CONNECT through the pipeline. */
export function serveConnect(deps: FrontDeps, incoming: Incoming, owner: PortOwner): Promise<unknown> {
  const { head } = incoming
  const credentials = credentialsOf(incoming, owner)
  const target = parseTarget(head.target)
  const wrong = incoming.problem ?? targetProblem(incoming, target)
  const problem = wrong ?? overQuota(deps, incoming, credentials)
  const admitted = target === null || problem !== null ? 'pipeline' : deps.admit(target, credentials)
  if (target !== null && admitted === 'refuse') return refuseInside(deps, incoming, { owner, target })
  if (target === null || admitted === 'pipeline') {
    const passed = pipeline(deps, incoming, { owner, kind: 'tunnel', transport: 'connect', problem })
    return passed.finally(incoming.connection.deadline.slot.endTunnel)
  }
  incoming.reply.upgrade(ESTABLISHED)
  const { socket, deadline } = incoming.connection
  const sources = { connectAuthority: head.target }
  openTunnel(deps, { socket, deadline, credentials, sources, host: target.host, isPort: owner !== null })
  return Promise.resolve()
}

/** Runs the CONNECT through the pipeline, and sends the refusal inside the tunnel. */
function refuseInside(
  deps: FrontDeps,
  incoming: Incoming,
  { owner, target }: { readonly owner: PortOwner; readonly target: Authority },
): Promise<unknown> {
  const { head, reply, connection } = incoming
  const { socket, deadline } = connection
  const credentials = credentialsOf(incoming, owner)
  const sources = { connectAuthority: head.target }
  const inside: Reply = {
    get isStarted() {
      return reply.isStarted
    },
    get bytesOut() {
      return reply.bytesOut
    },
    send(status, headers, body) {
      reply.upgrade(ESTABLISHED)
      const tunnel = { socket, deadline, credentials, sources, host: target.host, isPort: true }
      openTunnel(refusingDeps(deps, { status, headers, body }), tunnel)
    },
    stream: (status, headers, hasBody) => reply.stream(status, headers, hasBody),
    interim: (status, headers) => reply.interim(status, headers),
    upgrade: (established) => reply.upgrade(established),
  }
  const manner = { owner, kind: 'tunnel', transport: 'connect', problem: null } as const
  return pipeline(deps, incoming, { ...manner, reply: inside })
}

function targetProblem({ head }: Incoming, target: Authority | null): Problem | null {
  if (target === null) return { code: 'malformed_request', detail: 'the target of CONNECT must be host:port' }
  if (namesSameHost(head.rawHeaders, target)) return null
  const detail = `the Host header differs from the CONNECT target ${head.target}; send the same host in both`
  return { code: 'misdirected', detail }
}

/**
 * Counts the connection for the agent whose credentials it presents. Also counts a CONNECT as a tunnel. Returns the
 * problem when a quota is used up, else null.
 */
function overQuota(
  deps: FrontDeps,
  { head, connection }: Incoming,
  credentials: Credentials,
): Problem | null {
  const { slot } = connection.deadline
  const agent = deps.agentOf(credentials)
  if (agent === null) return null
  const detail = slot.claim(agent) ?? (head.method === 'CONNECT' ? slot.tunnel() : null)
  return detail === null ? null : { code: 'not_ready', detail }
}

/**
 * Returns true when the Host header of a CONNECT names its target. The port may be omitted, and HTTP/1.0 clients send
 * no Host.
 */
function namesSameHost(rawHeaders: RawHeaders, target: Authority): boolean {
  const value = headerValue(rawHeaders, 'host')
  if (value === undefined) return true
  const named = parseTarget(value) ?? parseTarget(`${value}:${target.port}`)
  return named !== null && named.host === target.host && named.port === target.port
}

/** Handles an absolute-form request, which a client sends to a plain HTTP proxy. */
export function serveAbsolute(deps: FrontDeps, incoming: Incoming, owner: PortOwner): Promise<unknown> {
  const isHttp = /^https?:\/\//i.test(incoming.head.target)
  const detail = 'the request target must be an http or https URL, or CONNECT host:port'
  const problem: Problem | null = isHttp ? null : { code: 'malformed_request', detail }
  return pipeline(deps, incoming, {
    owner,
    kind: incoming.head.framing.upgrade === null ? 'http' : 'upgrade',
    transport: owner === null ? 'absolute' : 'port-absolute',
    problem: incoming.problem ?? problem ?? overQuota(deps, incoming, credentialsOf(incoming, owner)),
  })
}

type Manner = {
  readonly owner: PortOwner
  readonly kind: ExchangeKind
  readonly transport: Transport
  readonly problem: Problem | null
  /** Reply that is used instead of the connection's own reply. */
  readonly reply?: Reply
}

function pipeline(deps: FrontDeps, incoming: Incoming, manner: Manner): Promise<unknown> {
  const { head, body, abort, acceptedAt, timeMs } = incoming
  const isTls = manner.kind === 'tunnel' || /^https:/i.test(head.target)
  return deps.handle(
    new Exchange({
      id: deps.newRequestId(),
      acceptedAt,
      timeMs,
      kind: manner.kind,
      transport: manner.transport,
      raw: {
        method: head.method,
        target: head.target,
        rawHeaders: head.rawHeaders,
        httpVersion: head.httpVersion,
        scheme: isTls ? 'https' : 'http',
        sources: manner.kind === 'tunnel' ? { connectAuthority: head.target } : NO_SOURCES,
      },
      credentials: credentialsOf(incoming, manner.owner),
      body,
      template: incoming.template,
      reply: manner.reply ?? incoming.reply,
      abort,
      problem: manner.problem,
    }),
  )
}

function credentialsOf({ head: { rawHeaders } }: Incoming, owner: PortOwner): Credentials {
  const unread = unreadCredentials(owner)
  if (unread.kind === 'port') return unread
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    if (name.length === 19 && name.toLowerCase() === 'proxy-authorization') {
      return { ...unread, kind: 'basic', header: rawHeaders[i + 1] ?? '' }
    }
  }
  return unread
}

/** Returns the credentials that follow from the port alone, before a request is read. */
export function unreadCredentials(owner: PortOwner): Exclude<Credentials, { kind: 'basic' }> {
  if (owner === null) return { kind: 'none' }
  const { agent, accepts } = owner
  return accepts === undefined ? { kind: 'port', agent } : { kind: 'none', keyedPort: { agent, accepts } }
}

/** Parses `host:port` or `[v6]:port` as the pipeline does: lower case, without brackets and without a trailing dot. */
function parseTarget(text: string): Authority | null {
  if (splitAuthority(text).port === null) return null
  const authority = parseAuthority(text, 'https')
  return isRefusal(authority) ? null : authority
}
