import { isOpaque } from '../../../core/capture/host-names.ts'
import { readsMessages } from '../../../core/connectors/classify.ts'
import type { OutboundEdit } from '../../../core/connectors/connector.ts'
import { mayBePrivate } from '../../../core/decision/egress.ts'
import type { CanonicalRequest, RawHeaders } from '../../../core/request/canonical.ts'
import type { HelloRule } from '../../upstream/hello-gate.ts'
import type { Upstream } from '../../upstream/http.ts'
import { HeadText } from '../../upstream/http1/request-head.ts'
import type { AnswerWatch, Outbound } from '../../upstream/outbound.ts'
import { plainTarget, targetOf, type UpstreamTarget } from '../../upstream/target.ts'
import type { BodyBudget } from '../body/body-budget.ts'
import { scanCandidates } from '../classification/candidate-scan.ts'
import type { Exchange, Stage } from '../exchange.ts'
import type { Pacer } from '../pacer.ts'
import type { HandlePort, PipelinePorts } from '../ports.ts'
import { handleWatchOf, watchMessages } from '../response/handle-watch.ts'
import { askForPlain, toolFilterOf } from '../response/tool-filter.ts'
import { type WorkWatch, watchMessageWork, workWatchOf } from '../response/work-watch.ts'

export type ForwardDeps = {
  readonly upstream: Upstream
  readonly pacer: Pacer
  readonly budget: BodyBudget
}

/** Creates the stage that sends the request upstream. No other stage reaches an upstream. */
export function createForward(
  { clock, handles, hostedWork }: Pick<PipelinePorts, 'clock' | 'handles' | 'hostedWork'>,
  { upstream, pacer, budget }: ForwardDeps,
): Stage {
  return {
    name: 'forward',
    run(exchange): Promise<undefined> {
      const { request, channel } = exchange
      if (request === undefined) throw new Error('the exchange must be parsed before it is forwarded')
      if (channel !== undefined) {
        watchMessages(exchange, handles)
        watchMessageWork(exchange, hostedWork)
        return channel.forward(exchange)
      }
      const target = whereTo(exchange, request)
      if (exchange.kind === 'tunnel') return upstream.tunnel(exchange, target, helloRule(exchange, request))
      const work = workWatchOf(exchange, hostedWork)
      const sending = { nowMs: clock.nowMs(), handles, pacer, budget, work }
      const forwarded = upstream.forward(exchange, outboundOf(exchange, target, sending))
      return work === null ? forwarded : forwarded.finally(() => work.over(exchange.abort.signal.aborted))
    },
  }
}

const HTTPS_PORT = 443

/**
 * Returns the rule for the first bytes of a tunnel. On port 443, and for a connector with TLS passthrough, they must be
 * TLS to the host for which the decision was made. Other ports allow any protocol, but a ClientHello must not name
 * another host. For `egress.tcp` and at the enforcement level `monitor` there is no check.
 */
function helloRule({ connector, snapshot }: Exchange, { host, port }: CanonicalRequest): HelloRule {
  if (snapshot === undefined || snapshot.gateway.level === 'monitor') return 'any'
  if (connector !== undefined) return 'required'
  if (isOpaque(snapshot, host, port)) return 'any'
  return port === HTTPS_PORT ? 'required' : 'matching'
}

function whereTo({ connector, snapshot }: Exchange, request: CanonicalRequest): UpstreamTarget {
  if (connector !== undefined) return targetOf(connector.entry, request)
  const { host, port } = request
  return plainTarget(request, snapshot !== undefined && mayBePrivate(snapshot, host, port))
}

type Sending = Omit<ForwardDeps, 'upstream'> & {
  readonly nowMs: number
  readonly handles: HandlePort
  readonly work: WorkWatch | null
}

function outboundOf(
  exchange: Exchange,
  target: UpstreamTarget,
  { nowMs, handles, pacer, budget, work }: Sending,
): Outbound {
  const { outbound, raw } = exchange
  if (outbound === undefined)
    throw new Error('the credentials of the exchange must be set before it is forwarded')
  const edit = toolFilterOf(exchange, nowMs, pacer)
  const given = handleWatchOf(exchange, handles)
  const isPlain = edit !== null || given?.readsBody === true || work !== null || isReadHere(exchange)
  const rawHeaders = headersOf(exchange, isPlain)
  return {
    target,
    method: raw.method,
    path: outbound.rawTarget,
    rawHeaders,
    headText: rawHeaders === outbound.rawHeaders ? headTextOf(exchange, outbound) : null,
    body: exchange.bodyBytes ?? exchange.body.forward(),
    watch: scanCandidates(exchange),
    edit,
    answer: both(given, work),
    echoMask: exchange.echoMask ?? null,
    onHead: exchange.reservedBytes === undefined ? null : () => discardBody(exchange, budget),
  }
}

function headTextOf({ template }: Exchange, outbound: OutboundEdit): HeadText | null {
  const prepared = template?.preparedFor(outbound) ?? null
  if (prepared === null) return null
  prepared.headText ??= new HeadText()
  return prepared.headText
}

function both(one: AnswerWatch | null, other: AnswerWatch | null): AnswerWatch | null {
  if (one === null || other === null) return one ?? other
  return {
    head(status, headers) {
      one.head(status, headers)
      other.head(status, headers)
    },
    data(chunk) {
      one.data(chunk)
      other.data(chunk)
    },
    end() {
      one.end?.()
      other.end?.()
    },
  }
}

/**
 * Frees the memory of the request body when the response begins. The request is not sent again, and its response may
 * take minutes.
 */
function discardBody(exchange: Exchange, budget: BodyBudget): void {
  exchange.bodyBytes = undefined
  exchange.scan = undefined
  exchange.body.release()
  budget.release(exchange)
}

/**
 * Returns true when the gateway must read the response, to mask credentials or to embed it in an event stream. The
 * response must then be uncompressed.
 */
function isReadHere({ connector, echoMask, reply }: Exchange): boolean {
  return reply.events !== undefined || (connector?.entry.scrubResponses === true && Boolean(echoMask))
}

function headersOf(exchange: Exchange, isPlain: boolean): RawHeaders {
  const { connector, request, outbound } = exchange
  const rawHeaders = outbound?.rawHeaders ?? []
  const asked = isPlain ? askForPlain(rawHeaders) : rawHeaders
  const areRead = connector !== undefined && request !== undefined && readsMessages(connector, request)
  return areRead ? withoutExtensions(asked) : asked
}

/** Removes the offer of WebSocket extensions, because the gateway cannot read compressed messages. */
function withoutExtensions(rawHeaders: RawHeaders): RawHeaders {
  const nameOf = (at: number) => rawHeaders[at - (at % 2)]?.toLowerCase().replaceAll('_', '-')
  const isKept = (at: number) => nameOf(at) !== 'sec-websocket-extensions'
  return rawHeaders.filter((_text, at) => isKept(at))
}
