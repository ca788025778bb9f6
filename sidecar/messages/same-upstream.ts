import { isDeepStrictEqual } from 'node:util'
import { ChaperoneError } from '../../core/errors.ts'
import type { ConnectorEntry } from '../../core/wire/gateway/sync.ts'
import type { Answered, Journaled } from '../pipeline/phases.ts'

/**
 * Reports whether the WebSocket of `opening` still has the upstream and the credential of the connector of `exchange`.
 */
export function isSameUpstream(opening: Answered, exchange: Journaled): boolean {
  const then = opening.connector?.entry
  const now = exchange.connector?.entry
  if (then === undefined || now === undefined) return false
  return then === now || isDeepStrictEqual(connectionOf(then), connectionOf(now))
}

function connectionOf({ id, secret, auth, upstream, baseUrl, tlsMode, webSocketMessages }: ConnectorEntry) {
  return { id, secret, auth, upstream, baseUrl, tlsMode, webSocketMessages }
}

export function connectorChanged(): ChaperoneError {
  const detail = 'The Connector was changed after the WebSocket was opened. Open the WebSocket again.'
  return new ChaperoneError('not_ready', { detail, retryAfterS: 1 })
}

export function connectionLost(): ChaperoneError {
  const detail =
    'The upstream closed the WebSocket before it answered. The message may have arrived, so the gateway does not send it again.'
  return new ChaperoneError('upstream_failed', { detail, extra: { error_type: 'connect' } })
}
