import type { RawHeaders } from '../../../core/request/canonical.ts'
import { isGrpc } from '../../../core/request/grpc.ts'
import { headerValue } from '../../../core/request/headers.ts'
import { LIMITS } from '../../../core/wire/limits.ts'
import type { Upstream } from '../../upstream/http.ts'
import type { Outbound, Sending } from '../../upstream/outbound.ts'
import type { UpstreamTarget } from '../../upstream/target.ts'
import { abortReason } from '../abort-reason.ts'
import { type Journaled, setSent } from '../phases.ts'
import type { HelloRule } from '../tunnel/hello-gate.ts'
import { createTunnels } from '../tunnel/tunnel.ts'
import { createIdleWatch } from './idle.ts'
import { Relay, type RelayDeps } from './relay.ts'
import type { ResponseStage } from './response-stage.ts'
import { PLAIN_RESPONSE } from './response-stages.ts'

export type Forwarding = {
  /**
   * Sends one request (or upgrade) and forwards the response through the stages to the agent. When no response was
   * started, rejects with a ChaperoneError (502, 504) or the abort reason. A failure after the response head cuts the
   * response, and the promise resolves.
   */
  forward(exchange: Journaled, outbound: Outbound, stages?: readonly ResponseStage[]): Promise<undefined>
  /**
   * Opens a CONNECT tunnel without decryption and answers 200. The client's first bytes are forwarded only when they
   * satisfy `hello`.
   */
  tunnel(exchange: Journaled, target: UpstreamTarget, hello: HelloRule): Promise<undefined>
}

export type ForwardingDeps = {
  readonly upstream: Pick<Upstream, 'send' | 'dialRaw'>
  readonly monotonicMs: () => number
  readonly idleTimeoutMs?: number
}

/** Connects exchanges with the upstream: the only place where a response reaches an exchange and its agent. */
export function createForwarding(deps: ForwardingDeps): Forwarding {
  const { upstream, monotonicMs } = deps
  const idle = createIdleWatch(deps.idleTimeoutMs ?? LIMITS.idleTimeoutMs)
  const tunnels = createTunnels({ dialRaw: upstream.dialRaw, idle, monotonicMs })
  const relayDeps: RelayDeps = { monotonicMs, idle, join: tunnels.join }

  // `forward` is not an async function: returning the promise of the relay saves one promise for each request.
  function forward(exchange: Journaled, outbound: Outbound, stages = PLAIN_RESPONSE): Promise<undefined> {
    const { signal } = exchange.abort
    if (signal.aborted) return Promise.reject(abortReason(signal))
    const sent = setSent(exchange, monotonicMs())
    const relay = new Relay({ exchange: sent, outbound, stages }, relayDeps)
    upstream.send(outbound, sendingOf(exchange, outbound.rawHeaders), relay)
    return relay.done
  }

  return { forward, tunnel: tunnels.open }
}

const PLAIN: Sending = { upgrade: null, isHttp2: false }
const GRPC: Sending = { upgrade: null, isHttp2: true }

function sendingOf(exchange: Journaled, rawHeaders: RawHeaders): Sending {
  if (exchange.kind === 'upgrade' && exchange.request.isUpgrade)
    return { upgrade: headerValue(rawHeaders, 'upgrade') ?? null, isHttp2: false }
  return needsHttp2(exchange) ? GRPC : PLAIN
}

/**
 * Returns true for a gRPC call that arrived over HTTP/2. The status of a gRPC call is in trailers and both bodies run
 * concurrently, which HTTP/1.1 does not offer for gRPC. All other requests are sent over HTTP/1.1: every upstream
 * supports HTTP/1.1, and with one request for each connection neither a cut exchange nor a lost packet affects other
 * requests.
 */
function needsHttp2({ raw }: Journaled): boolean {
  return raw.httpVersion === '2' && isGrpc(raw.rawHeaders)
}
