import type { Socket } from 'node:net'
import { ConnectionPreamble, MAX_PREAMBLE_BYTES } from '../../../core/capture/connection-preamble.ts'
import type { Credentials, KeyedPort } from '../../pipeline/credentials/credentials.ts'
import type { FrontDeps } from '../deps.ts'
import type { AgentDns } from '../dns/agent-dns.ts'
import { type CapturedConnection, createTransparent, type TransparentDeps } from './transparent.ts'

export type RelayedConnectionsDeps = FrontDeps & {
  readonly isOpaque: TransparentDeps['isOpaque']
  readonly isUnowned: TransparentDeps['isUnowned']
  /** Returns the DNS of an agent. Called only with agents whose key was verified. */
  readonly dnsOf: (agent: string) => AgentDns
  readonly accepts: KeyedPort['accepts']
  /** Returns true when the credentials are valid for an agent. */
  readonly isKnown: (credentials: Credentials) => boolean
}

/**
 * Serves connections that were redirected in another network namespace and relayed to a Unix socket
 * (`core/capture/connection-preamble.ts`). The first line contains the agent's key, so a client of the socket can act
 * for that agent only.
 */
export function createRelayedConnections(
  deps: RelayedConnectionsDeps,
): (captured: CapturedConnection) => void {
  return (captured) => {
    readFirstLine(captured, deps.limits.headTimeoutMs, (line) => {
      const what = line === null ? null : parse(line)
      if (what === null) {
        deps.log.warn(
          {},
          'a connection of chaperone run --capture does not identify its agent; the connection was closed',
        )
        captured.socket.destroy()
      } else if (what.kind === 'dns') serveDns(deps, captured, what)
      else serve(deps, captured, { ...what, kind: what.kind })
    })
  }
}

function serveDns(
  deps: RelayedConnectionsDeps,
  { socket, deadline }: CapturedConnection,
  what: ConnectionPreamble,
): void {
  const credentials = credentialsOf(deps, what)
  // A DNS response cannot carry the reason of a refusal, so invalid keys are rejected before DNS is served.
  const isKnown = deps.isKnown(credentials)
  const refusal = isKnown ? deadline.slot.claim(what.agent) : 'The key does not belong to the agent.'
  if (refusal === null) deps.dnsOf(what.agent).serve(socket, credentials)
  else {
    deps.log.warn({ agent: what.agent, refusal }, 'relayed DNS connection refused')
    socket.destroy()
  }
}

/**
 * Builds the credentials that a request on the port of the agent would have, so that a wrong key is recorded in the
 * same way.
 */
function credentialsOf({ accepts }: RelayedConnectionsDeps, { agent, key }: ConnectionPreamble): Credentials {
  const header = `Basic ${Buffer.from(`${agent}:${key}`).toString('base64')}`
  return { kind: 'basic', header, keyedPort: { agent, accepts } }
}

function serve(
  deps: RelayedConnectionsDeps,
  captured: CapturedConnection,
  { kind, destination, ...whose }: ConnectionPreamble & { readonly kind: 'tls' | 'http' | 'other' },
): void {
  const credentials = credentialsOf(deps, { kind, destination, ...whose })
  const dns = destination !== null && deps.isKnown(credentials) ? deps.dnsOf(whose.agent) : null
  const at = destination && { host: dns?.nameOf(destination.address) ?? null, ...destination }
  const transparent = createTransparent({
    ...deps,
    credentials,
    destinationOf: async () => at,
    isProbe: () => false,
  })
  transparent(kind, captured)
}

/**
 * Reads the first line and calls `done` once, with null when the line is too long, late or incomplete. The socket is
 * paused before the call, and the bytes after the line are put back.
 */
function readFirstLine(
  { socket, deadline }: CapturedConnection,
  timeoutMs: number,
  done: (line: string | null) => void,
): void {
  let bytes: Buffer = Buffer.alloc(0)
  const finish = (line: string | null): void => {
    socket.removeListener('data', onData)
    socket.removeListener('close', onClose)
    socket.pause()
    deadline.disarm()
    done(line)
  }
  const onClose = (): void => finish(null)
  const onData = (chunk: Buffer): void => {
    bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
    const end = bytes.indexOf(10)
    if (end === -1) {
      if (bytes.length > MAX_PREAMBLE_BYTES) finish(null)
      return
    }
    if (end + 1 < bytes.length) putBack(socket, bytes.subarray(end + 1))
    finish(bytes.toString('utf8', 0, end))
  }
  socket.on('data', onData)
  socket.on('close', onClose)
  deadline.arm(timeoutMs, () => finish(null))
  socket.resume()
}

function putBack(socket: Socket, rest: Buffer): void {
  socket.pause()
  socket.unshift(rest)
}

function parse(line: string): ConnectionPreamble | null {
  try {
    const parsed = ConnectionPreamble.safeParse(JSON.parse(line))
    return parsed.success ? parsed.data : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
