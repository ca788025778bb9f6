import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { portsOfHost } from '../../../core/capture/host-names.ts'
import type { Credentials, Exchange, Reply } from '../../pipeline/exchange.ts'
import { newConnectExchange } from '../connect-exchange.ts'
import type { ConnectionDeadline } from '../connection-deadline.ts'
import type { FrontDeps } from '../deps.ts'
import { enterTunnel } from '../tunnel.ts'
import { type Refusal, refusingDeps } from '../tunnel-refusal.ts'
import { detachSocket } from '../upgrade.ts'

/** A connection that is passed through to its destination undecrypted, if the pipeline allows it. */
export type Passthrough = {
  readonly socket: Socket
  readonly deadline: ConnectionDeadline
  readonly credentials: Credentials
  /** Target of the equivalent CONNECT. */
  readonly authority: { readonly host: string; readonly port: number }
  /** Bytes received from the client so far. */
  readonly first: Buffer
  /** The client speaks TLS, so that a refusal can be sent inside it. */
  readonly isTls: boolean
}

/** Handles a redirected connection that is not decrypted like the equivalent CONNECT: one exchange, one record. */
export function openPassthrough(deps: FrontDeps, passthrough: Passthrough): void {
  const { socket, authority } = passthrough
  const target = authority.host.includes(':')
    ? `[${authority.host}]:${authority.port}`
    : `${authority.host}:${authority.port}`
  const abort = new AbortController()
  const onClose = (): void => abort.abort(new Error('the client closed the connection'))
  socket.once('close', onClose)
  const reply = createPassthroughReply(passthrough, (refusal) => {
    if (passthrough.isTls && (deps.canRefuseInside || isOwned(exchange)))
      refuseInside(deps, passthrough, refusal)
    else closeRefused(passthrough)
  })
  const exchange = newConnectExchange({
    id: deps.newRequestId(),
    target,
    credentials: passthrough.credentials,
    reply,
    abort,
    problem: null,
  })
  deps
    .handle(exchange)
    .catch((error: unknown) => deps.log.error({ err: error }, 'exchange failed'))
    .finally(() => {
      socket.removeListener('close', onClose)
      if (!reply.isStarted) socket.destroySoon()
    })
}

/**
 * Returns true when the certificate of the pod covers the host. A host may be refused on a port that its connector
 * does not list.
 */
function isOwned({ outcome, snapshot, request }: Exchange): boolean {
  if (outcome.denyReason !== 'unknown_host' || snapshot === undefined) return true
  return portsOfHost(snapshot, request?.host ?? '').length > 0
}

/** The client sent no CONNECT, so an approval is silent: the stream itself. */
function createPassthroughReply(
  { socket, deadline, first }: Passthrough,
  refused: (refusal: Refusal) => void,
): Reply {
  const state = { isStarted: false }
  return {
    bytesOut: 0,
    get isStarted() {
      return state.isStarted
    },
    send(status, headers, body) {
      state.isStarted = true
      refused({ status, headers, body })
    },
    stream() {
      throw new Error('a passthrough carries bytes, not answers')
    },
    interim() {},
    upgrade(): Duplex {
      state.isStarted = true
      deadline.drain = () => socket.destroy()
      return detachSocket(socket, first.length === 0 ? null : first)
    },
  }
}

/** Sends the refusal inside TLS: clients retry connections that are closed, and show no reason. */
function refuseInside(deps: FrontDeps, passthrough: Passthrough, refusal: Refusal): void {
  const { socket, deadline, authority, first, credentials } = passthrough
  const tunnel = { socket, deadline, credentials, sources: {}, host: authority.host, isPort: true }
  enterTunnel(refusingDeps(deps, refusal), tunnel, {
    ...{ protocol: 'tls', bytes: first, serverName: authority.host },
  })
}

/** Fatal `access_denied` (RFC 8446, section 6.2). */
const ACCESS_DENIED = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x31])

function closeRefused({ socket, isTls }: Passthrough): void {
  if (isTls) socket.write(ACCESS_DENIED)
  socket.destroySoon()
}
