import { ChaperoneError } from '../../../core/errors.ts'
import type { Dialer } from '../dial.ts'
import type { UpstreamTarget } from '../target.ts'
import { UpstreamSession } from './session.ts'

export type DialOptions = {
  readonly timeoutMs: number
  readonly onClosed: (session: UpstreamSession) => void
}

/** ALPN protocols for gRPC. HTTP/1.1 is not offered, because a server could select it. */
const ALPN = ['h2'] as const

/**
 * Opens a new session on a connection of the dialer, which resolves, checks and pins the address and verifies the
 * certificate. Without TLS the session uses HTTP/2 with prior knowledge. Rejects with the errors of the dialer, and
 * with `upstream_failed` when the server does not support HTTP/2.
 */
export async function dialSession(
  dialer: Dialer,
  target: UpstreamTarget,
  options: DialOptions,
): Promise<UpstreamSession> {
  const socket = await dialer.dial(target, ALPN).catch((error: unknown) => {
    throw isAlpnAlert(error) ? notHttp2(target.host) : error
  })
  if (target.isTls && Reflect.get(socket, 'alpnProtocol') !== 'h2') {
    socket.destroy()
    throw notHttp2(target.host)
  }
  return UpstreamSession.open(socket, target, options).catch((cause: unknown) => {
    throw notHttp2(target.host, cause)
  })
}

/** Returns true when the server supports ALPN but none of the offered protocols. */
function isAlpnAlert(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && /NO_APPLICATION_PROTOCOL/.test(String(cause.code))
}

function notHttp2(host: string, cause?: unknown): ChaperoneError {
  const said = cause instanceof Error ? ` (${cause.message})` : ''
  const detail = `${host} does not support HTTP/2${said}, which a gRPC call needs. Nothing was sent. Check the address and port of the gRPC server, or upstream.url of the connector.`
  return new ChaperoneError('upstream_failed', { detail, extra: { error_type: 'connect' }, cause })
}
