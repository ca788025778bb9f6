import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { portsOfHost } from '../../../core/capture/host-names.ts'
import { authorityText } from '../../../core/request/authority-text.ts'
import type { Credentials } from '../../pipeline/credentials/credentials.ts'
import type { Exchange } from '../../pipeline/exchange.ts'
import type { Reply } from '../../pipeline/reply.ts'
import { newConnectExchange } from '../connect-exchange.ts'
import type { ConnectionDeadline } from '../connection-deadline.ts'
import type { FrontDeps } from '../deps.ts'
import { enterTunnel } from '../tunnel.ts'
import { type Refusal, refusingDeps } from '../tunnel-refusal.ts'
import { detachSocket } from '../upgrade.ts'

/** Connection that is forwarded to its destination without decryption, if the pipeline allows it. */
export type Passthrough = {
  readonly socket: Socket
  readonly deadline: ConnectionDeadline
  readonly credentials: Credentials
  /** Destination of the connection, as a CONNECT would name it. */
  readonly authority: { readonly host: string; readonly port: number }
  /** Bytes received from the client so far. */
  readonly first: Buffer
  /** True when the client uses TLS. A refusal can then be sent as a response inside TLS. */
  readonly isTls: boolean
}

/**
 * Handles a redirected connection that is not decrypted. The connection is one exchange with one record, like the
 * equivalent CONNECT.
 */
export function openPassthrough(deps: FrontDeps, passthrough: Passthrough): void {
  const { socket, authority } = passthrough
  const target = authorityText(authority.host, authority.port)
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
 * Returns true when the certificate authority (CA) of the pod may sign a certificate for the host: a connector owns the
 * host on any port. The reason `unknown_host` alone does not determine this, because a host that a connector owns on
 * other ports only is refused with the same reason.
 */
function isOwned({ outcome, snapshot, request }: Exchange): boolean {
  if (outcome.denyReason !== 'unknown_host' || snapshot === undefined) return true
  return portsOfHost(snapshot, request?.host ?? '').length > 0
}

/**
 * Creates the reply of a passthrough. The client sent no CONNECT, so an allowed passthrough gets no response: the reply
 * only opens the stream.
 */
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
      throw new Error('a passthrough connection cannot carry an HTTP response')
    },
    interim() {},
    upgrade(): Duplex {
      state.isStarted = true
      deadline.drain = () => socket.destroy()
      return detachSocket(socket, first.length === 0 ? null : first)
    },
  }
}

/**
 * Sends the refusal as a response inside TLS. When the connection is only closed, clients retry it and show no reason.
 */
function refuseInside(deps: FrontDeps, passthrough: Passthrough, refusal: Refusal): void {
  const { socket, deadline, authority, first, credentials } = passthrough
  const tunnel = { socket, deadline, credentials, sources: {}, host: authority.host, isPort: true }
  enterTunnel(refusingDeps(deps, refusal), tunnel, {
    protocol: 'tls',
    bytes: first,
    serverName: authority.host,
  })
}

/** TLS alert: fatal `access_denied` (RFC 8446, section 6.2). */
const ACCESS_DENIED = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x31])

function closeRefused({ socket, isTls }: Passthrough): void {
  if (isTls) socket.write(ACCESS_DENIED)
  socket.destroySoon()
}
