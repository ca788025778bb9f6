import { isOpaque } from '../../../core/capture/host-names.ts'
import { readsMessages } from '../../../core/connectors/classify.ts'
import type { OutboundEdit } from '../../../core/connectors/connector.ts'
import { mayBePrivate } from '../../../core/decision/egress.ts'
import type { RawHeaders } from '../../../core/request/canonical.ts'
import { isGrpc } from '../../../core/request/grpc.ts'
import { headerValue } from '../../../core/request/headers/headers.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { Upstream } from '../../upstream/http.ts'
import { HeadText } from '../../upstream/http1/request-head.ts'
import type { Outbound, Sending } from '../../upstream/outbound.ts'
import { plainTarget, targetOf, type UpstreamTarget } from '../../upstream/target.ts'
import type { BodyReader } from '../body/body-reader.ts'
import { type CredentialWatch, watchCredential } from '../credentials/minted-secret.ts'
import { abortReason } from '../exchange-abort.ts'
import type { Pacer } from '../pacer.ts'
import {
  type Cleared,
  type HasIntent,
  isSystem,
  type Journaled,
  keepIntent,
  type Parsed,
  type Sent,
  setSent,
} from '../phases.ts'
import type { PipelinePorts } from '../ports.ts'
import { watchMessages } from '../response/handle-watch.ts'
import { createIdleWatch } from '../response/idle.ts'
import { Relay, type RelayDeps } from '../response/relay.ts'
import type { ResponseStage } from '../response/response-stage.ts'
import { PLAIN_RESPONSE, readBody, responseStagesOf } from '../response/response-stages.ts'
import { askForPlain } from '../response/tool-filter.ts'
import { watchMessageWork } from '../response/work-watch.ts'
import type { Eventual, Stage } from '../stage.ts'
import type { HelloRule } from '../tunnel/hello-gate.ts'
import { createTunnels } from '../tunnel/tunnel.ts'

export type ForwardDeps = {
  readonly upstream: Upstream
  readonly pacer: Pacer
  readonly reader: BodyReader
  /** Evaluates the exchange again and replaces its credentials again if the snapshot has changed. */
  readonly renew: (exchange: Cleared) => Eventual<Cleared>
}

type ForwardPorts = Pick<PipelinePorts, 'clock' | 'handles' | 'hostedWork' | 'credentials'>
type Deps = Omit<ForwardDeps, 'upstream'> & ForwardPorts & { readonly forwarding: Forwarding }

/** Creates the stage that sends the request upstream. No other stage reaches an upstream. */
export function createForward(
  ports: ForwardPorts,
  { upstream, ...given }: ForwardDeps,
): Stage<Journaled, Sent> {
  const { clock, handles, hostedWork, credentials } = ports
  const forwarding = createForwarding({ upstream, monotonicMs: clock.monotonicMs })
  const deps = { clock, handles, hostedWork, credentials, forwarding, ...given }
  return {
    name: 'forward',
    run(exchange): Promise<undefined> {
      const { channel } = exchange
      if (channel === undefined) return send(exchange, deps)
      watchMessages(exchange, handles, clock)
      watchMessageWork(exchange, hostedWork, clock)
      return channel.forward(exchange)
    },
  }
}

function send(exchange: Journaled, deps: Deps): Promise<undefined> {
  const { forwarding, credentials } = deps
  const target = whereTo(exchange)
  if (exchange.kind === 'tunnel') return forwarding.tunnel(exchange, target, helloRule(exchange))
  const stages = responseStagesOf(exchange, deps)
  const isPlain = exchange.reply.events !== undefined || readBody(stages)
  const outbound = outboundOf(exchange, target, isPlain)
  const refusal = watchCredential(exchange, credentials)
  if (refusal === null) return forwarding.forward(exchange, outbound, stages)
  return forwarding
    .forward(exchange, outbound, [...stages, refusal])
    .then(() => (refusal.isDiscarded && !isSystem(exchange) ? repeat(exchange, refusal, deps) : undefined))
}

/** Sends a read again after the upstream refused its credential and the credential was replaced. */
async function repeat(
  exchange: Cleared & HasIntent,
  refusal: CredentialWatch,
  deps: Deps,
): Promise<undefined> {
  exchange.isRepeated = true
  await refusal.refresh()
  exchange.abort.signal.throwIfAborted()
  const renewed = await deps.renew(exchange)
  if (renewed !== 'responded') await send(keepIntent(renewed, exchange), deps)
}

const HTTPS_PORT = 443

/**
 * Returns the rule for the first bytes of a tunnel. On port 443, and for a connector with TLS passthrough, the first
 * bytes must be TLS to the host for which the decision was made. Other ports allow any protocol, but a ClientHello must
 * not name another host. For `egress.tcp` and at the enforcement level `monitor` there is no check.
 */
function helloRule({ connector, snapshot, request: { host, port } }: Parsed): HelloRule {
  if (snapshot.gateway.level === 'monitor') return 'any'
  if (connector !== undefined) return 'required'
  if (isOpaque(snapshot, host, port)) return 'any'
  return port === HTTPS_PORT ? 'required' : 'matching'
}

function whereTo({ connector, snapshot, request }: Parsed): UpstreamTarget {
  if (connector !== undefined) return targetOf(connector.entry, request)
  const { host, port } = request
  return plainTarget(request, mayBePrivate(snapshot, host, port))
}

/**
 * Builds the outbound request. `isPlain` is true when the gateway must read the response, which must then be
 * uncompressed.
 */
function outboundOf(exchange: Journaled, target: UpstreamTarget, isPlain: boolean): Outbound {
  const { outbound, raw } = exchange
  const rawHeaders = headersOf(exchange, isPlain)
  return {
    target,
    method: raw.method,
    path: outbound.rawTarget,
    rawHeaders,
    headText: rawHeaders === outbound.rawHeaders ? headTextOf(exchange, outbound) : null,
    body: exchange.bodyBytes ?? exchange.body.forward(),
  }
}

function headTextOf({ template }: Journaled, outbound: OutboundEdit): HeadText | null {
  const prepared = template?.preparedFor(outbound) ?? null
  if (prepared === null) return null
  prepared.headText ??= new HeadText()
  return prepared.headText
}

function headersOf({ connector, request, outbound }: Journaled, isPlain: boolean): RawHeaders {
  const { rawHeaders } = outbound
  const asked = isPlain ? askForPlain(rawHeaders) : rawHeaders
  const areRead = connector !== undefined && readsMessages(connector, request)
  return areRead ? withoutExtensions(asked) : asked
}

/** Removes the offer of WebSocket extensions, because the gateway cannot read compressed messages. */
function withoutExtensions(rawHeaders: RawHeaders): RawHeaders {
  const nameOf = (at: number) => rawHeaders[at - (at % 2)]?.toLowerCase().replaceAll('_', '-')
  const isKept = (at: number) => nameOf(at) !== 'sec-websocket-extensions'
  return rawHeaders.filter((_text, at) => isKept(at))
}

export type Forwarding = {
  /**
   * Sends one request (or upgrade) and forwards the response through the stages to the agent. When no response was
   * started, rejects with a ChaperoneError (502, 504) or the abort reason. A failure after the response head aborts the
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
 * supports HTTP/1.1, and with one request for each connection neither an aborted exchange nor a lost packet affects
 * other requests.
 */
function needsHttp2({ raw }: Journaled): boolean {
  return raw.httpVersion === '2' && isGrpc(raw.rawHeaders)
}
