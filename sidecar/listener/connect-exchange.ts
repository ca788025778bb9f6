import type { RequestSources } from '../../core/request/canonical.ts'
import type { Credentials } from '../pipeline/credentials/credentials.ts'
import { Exchange } from '../pipeline/exchange.ts'
import type { ExchangeAbort } from '../pipeline/exchange-abort.ts'
import type { Reply } from '../pipeline/reply.ts'
import { EMPTY_BODY } from './body-intake.ts'
import type { Problem } from './http1/framing.ts'

export type ConnectParts = {
  readonly id: string
  /** Destination as `host:port`. */
  readonly target: string
  readonly sources?: RequestSources
  readonly credentials: Credentials
  readonly reply: Reply
  readonly abort: ExchangeAbort
  readonly problem: Problem | null
}

/** Creates the exchange of a CONNECT that no client sent, which represents a redirected connection or a DNS query. */
export function newConnectExchange(parts: ConnectParts): Exchange {
  const { target, sources = { connectAuthority: target }, ...rest } = parts
  return new Exchange({
    ...rest,
    acceptedAt: performance.now(),
    timeMs: Date.now(),
    kind: 'tunnel',
    transport: 'connect',
    raw: { method: 'CONNECT', target, rawHeaders: [], httpVersion: '1.1', scheme: 'https', sources },
    body: EMPTY_BODY,
  })
}
