import type { Duplex, Readable } from 'node:stream'
import type { Action } from '../../core/action/action.ts'
import type { Named, OutboundEdit } from '../../core/connectors/connector.ts'
import type { EventFormat } from '../../core/connectors/event-format.ts'
import type { BoundConnector } from '../../core/connectors/registry.ts'
import type { Decision } from '../../core/decision/decision.ts'
import type { HandleOwner } from '../../core/decision/handle-owner.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { CanonicalRequest, RawHeaders, RawRequest } from '../../core/request/canonical.ts'
import type { Sliced } from '../../core/sliced.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import type { RefusalRow } from '../../core/state/refusal-windows.ts'
import type { GivenHandle } from '../../core/wire/gateway/handles.ts'
import type { AgentEntry } from '../../core/wire/gateway/sync.ts'
import type { MessageRoom } from './body/body-budget.ts'
import type { BodyScan } from './body/body-scan.ts'
import type { OrderedAction } from './classification/ordered-action.ts'
import type { ProvisionalClassification } from './classification/provisional-classification.ts'
import type { ExchangeAbort } from './exchange-abort.ts'
import type { OpenIntent } from './ports.ts'
import type { RefusalRecord } from './record/refusal-record.ts'
import type { EchoMask } from './response/echo-mask.ts'

/** How the bytes arrived. Listeners differ in nothing else: behind them is one pipeline. */
export type Transport =
  | 'absolute'
  | 'connect-h1'
  | 'connect-h2'
  | 'port-absolute'
  | 'port-h1'
  | 'port-h2'
  | 'connect'
  /** A message of a WebSocket. */
  | 'websocket'
  /** No listener: the control plane ordered it. */
  | 'order'
  /** No listener: the gateway itself cancels what an agent started. */
  | 'system'

/**
 * `http`: one request and its reply. `upgrade`: a request that becomes a raw stream (WebSocket).
 * `tunnel`: a CONNECT that is not decrypted (host without connector, or passthrough).
 */
export type ExchangeKind = 'http' | 'upgrade' | 'tunnel'

/** A port that belongs to one agent and takes its key: a local port, or the socket of captured commands. */
export type KeyedPort = {
  readonly agent: string
  /** Reports whether `key` is the port key of the agent. The agent's API key is verified separately. */
  readonly accepts: (agent: AgentEntry, key: string) => boolean
}

/**
 * How the agent is identified: `port`, by the port alone (a pod, an order of the control plane); `basic`, by
 * `Proxy-Authorization: Basic name:key`, which must name the agent of `keyedPort` where there is one; or not at all.
 */
export type Credentials =
  | { readonly kind: 'port'; readonly agent: string }
  | { readonly kind: 'basic'; readonly header: string; readonly keyedPort?: KeyedPort }
  | { readonly kind: 'none'; readonly keyedPort?: KeyedPort }

/** The request body as the listener offers it. Never read twice: what `buffer` read is replayed by `forward`. */
export type RequestBody = {
  /** True when the framing says that there is none. */
  readonly isEmpty: boolean
  /** Resolves with the whole body, or null when it is longer than `limit` (what was read stays for `forward`). Rejects when the client goes away. */
  buffer(limit: number): Promise<Buffer | null>
  /**
   * The first bytes, once `scan` has enough of them, there are `limit`, or the body ends; they stay for a later reader.
   * `scan` gets all bytes so far and returns how many there have to be before it is called again; no more than there are
   * means enough.
   */
  peek(limit: number, scan: (bytes: Buffer) => number): Promise<Buffer>
  /**
   * Resolves with true once the whole body, or more than `limit`, has arrived, and with false after `ms`. The bytes
   * remain readable. Rejects when the client disconnects.
   */
  endsWithin(ms: number, limit: number): Promise<boolean>
  /** The whole body when it is already here (buffered, or arrived with the head), else a stream; null when empty. */
  forward(): Buffer | Readable | null
  /** Bytes received so far. */
  readonly bytesIn: number
  /** Discards buffered bytes: the body is not read any further. */
  release(): void
}

/** The reply, in the words of the client's protocol. Exactly one of `send`, `stream`, `upgrade` is called, once. */
export type Reply = {
  readonly isStarted: boolean
  /** Whole answer. Adds framing itself; `headers` must hold none. The request body left over is drained or the connection closed. */
  send(status: number, headers: RawHeaders, body: Buffer | string): void
  /** Upstream's answer: raw header pairs less hop-by-hop ones; framing is chosen by the listener. */
  stream(status: number, headers: RawHeaders, hasBody: boolean): ReplyStream
  /** Interim answer such as 103; 100 is sent by the body when it is first read. */
  interim(status: number, headers: RawHeaders): void
  /** Hijacks the connection: writes the head as given and hands over the raw stream (upgrade and tunnel only). */
  upgrade(head: string): Duplex
  /** Asks the client, where the protocol has a way to; false also when it takes nothing. Never rejects. */
  isThere?(): Promise<boolean>
  /** The event stream that was started while the request was held. The response is then sent as events of this stream. */
  readonly events?: OpenEvents | undefined
  readonly bytesOut: number
}

export type OpenEvents = {
  readonly format: EventFormat
  /** Ends a stream that gets no answer, visibly incomplete. */
  cut(): void
}

export type ReplyStream = {
  /** False when the client is slow: wait for `onDrain`. */
  write(chunk: Buffer): boolean
  onDrain(callback: () => void): void
  end(trailers?: RawHeaders): void
  /** Set by `end` where the answer is still being edited: it settles once everything was written. */
  readonly ended?: Promise<undefined> | null
  /** Cuts the connection so that the client cannot take the answer for complete. */
  destroy(): void
}

/** Outcome, filled by the stages; the pipeline's `finally` turns it into the record. */
export type Outcome = {
  status: number | null
  /** Closed reason of spec 4.5 for refusals. */
  denyReason: DenyReason | null
  errorCode: ErrorCode | null
  /** `401 | 429 | 500 | timeout | connect | tls` for upstream trouble. */
  errorType: string | null
  note: string | null
  reason: string | null
  /** When the upstream dispatch began and when its head came (performance.now), for overhead. */
  upstreamStartedAt: number | null
  upstreamHeadAt: number | null
  /** Milliseconds spent waiting for a person. */
  heldMs: number
  /** True when the upstream sent our credential back, and it was masked. */
  isEchoMasked: boolean
}

export type DenyReason =
  | 'permission'
  | 'policy'
  | 'policy_invalid'
  | 'kill_switch'
  | 'unknown_host'
  | 'approval_denied'
  | 'approval_expired'
  /** The state that was approved changed before the request was sent. */
  | 'approval_void'
  | 'ambiguous'
  | 'not_ready'
  | 'rate_limit'
  | 'agent'
  | 'address'
  | 'credential'

/** One request's life: created by a listener before parsing, filled by the stages, closed once by the pipeline. */
export type Exchange = {
  /** `req_…`, also X-Request-Id. */
  readonly id: string
  /** performance.now() at accept. */
  readonly acceptedAt: number
  /** Epoch ms at accept. */
  readonly timeMs: number
  readonly kind: ExchangeKind
  readonly transport: Transport
  readonly raw: RawRequest
  readonly credentials: Credentials
  readonly body: RequestBody
  /** The listener's. A held request whose client takes events gets one around it. */
  reply: Reply
  /** Fires once when the client went away or the kill switch cut the exchange; the reason is `signal.reason`. */
  readonly abort: ExchangeAbort
  /** Set by the listener for a head that could not be parsed at all: normalise answers it, so that it has a record too. */
  readonly malformed?:
    | { readonly code: ErrorCode; readonly detail: string; readonly reason?: 'unknown_host' }
    | undefined
  /** Set when the control plane ordered the request. */
  readonly order?: OrderedAction | undefined
  /** Set when the gateway itself sends the request, because of a kill switch. */
  readonly system?: SystemOrder | undefined
  /** Set when it is a message of a WebSocket: the connection that carries it. */
  readonly channel?: MessageChannel | undefined

  /** Once there is a connector: without the agent's credentials in its query. */
  request?: CanonicalRequest | undefined
  /** It lost a query parameter that may select what it acts upon. */
  losesParameter?: boolean | undefined
  snapshot?: Snapshot | undefined
  agent?: AgentEntry | undefined
  connector?: BoundConnector | undefined
  /** Classification by the request line; undefined once the body was needed. */
  provisional?: ProvisionalClassification | undefined
  /** Every action that the request does or may do; those of `named`. */
  actions?: readonly Action[] | undefined
  /** How it was named. Candidates stay candidates while nothing has told which of them happens. */
  named?: Named | undefined
  /** Whole body, when a stage had to read it. */
  bodyBytes?: Buffer | undefined
  /** Result of the scan of the whole body. */
  scan?: BodyScan | undefined
  /** Bytes reserved in the budget of buffered bodies; maintained by `body-budget.ts`. */
  reservedBytes?: number | undefined
  /** True when it is held while its client is still sending, so that the body is unknown. */
  isOpenEnded?: boolean | undefined
  decision?: Decision | undefined
  /** A person's yes that was spent for exactly this request. */
  approvalId?: string | undefined
  /** Members that the gateway added to the body, so that the provider accepts the approved state alone. */
  completedWith?: readonly string[] | undefined
  /** The approval that was asked for, however it was answered. */
  holdId?: string | undefined
  actId?: string | undefined
  /** True while it waits for an approver; used by the record of an abandoned hold. */
  isWaiting?: boolean | undefined
  outbound?: OutboundEdit | undefined
  /** Masks the injected credential in the answer; set with it. */
  echoMask?: EchoMask | null | undefined
  /** Id and sequence of the record, given with the intent so that intent and result are one record. */
  recordId?: string | undefined
  intentSeq?: number | undefined
  /** Gives the exchange the id of its record once it is refused; set by the pipeline. */
  assignRecord?: ((exchange: Exchange) => void) | undefined
  /** Runs exchanges inside this one: the messages of a WebSocket. Set by the pipeline. */
  inner?: InnerExchanges | undefined
  /** The row that counts this refusal. */
  refusalRow?: RefusalRow<RefusalRecord> | undefined
  /** The intent written before anything was sent upstream. */
  intent?: OpenIntent | undefined
  /** `timeMs` in ISO 8601, as both of them say it. */
  time?: string | undefined
  /** Bytes that passed through an upgraded or tunnelled connection. */
  tunnelBytes?: { up: number; down: number } | undefined
  /** Hashes of the things at the provider that the request names, and whose they are. */
  namedHandles?: readonly string[] | undefined
  handle?: HandleOwner | undefined
  /** Handles that the provider gave to the agent in its response. */
  given?: GivenHandle[] | undefined
  /** Gets the beginning of every message of the answer over a WebSocket. */
  onAnswerMessage?: ((head: string) => void) | undefined
  /** How many tools were taken out of the answer to a `tools/list`. */
  hiddenTools?: number | undefined
  /** The stage that runs, or ran last. */
  stage?: string | undefined
  outcome: Outcome
}

/** Cancels work that the agent started at a provider. */
export type SystemOrder = {
  /** As it was when the work started: it may be suspended or gone by now. */
  readonly agent: AgentEntry
  /** The connector that the work was started through; the request goes nowhere else. */
  readonly connectorId: string
  /** Of the kill switch. */
  readonly scope: string
}

/** An open WebSocket, as the exchange of one of its messages sees it. */
export type MessageChannel = {
  /** Whose events it carries. */
  readonly connectorType: string
  /** Events of the answer carry this name; null for none. */
  readonly lane: string | null
  /** Sends the message upstream; resolves at the end of its answer. Rejects with a ChaperoneError when it was not sent. */
  forward(exchange: Exchange): Promise<undefined>
}

export type InnerExchanges = {
  run(exchange: Exchange): Promise<void>
  newRequestId(): string
  readonly clock: { nowMs(): number; monotonicMs(): number }
  /** Room for messages in the budget of kept bodies. */
  readonly room: MessageRoom
  /** Runs work for the exchange in slices. */
  runSliced<T>(exchange: Exchange, work: Sliced<T>): Promise<T>
}

/** A stage either lets the request go on or has answered it. No stage knows its neighbours. */
export type StageResult = 'continue' | 'responded'
export type Stage = {
  readonly name: string
  /** A promise of nothing means `continue`: many requests may wait for the same one. */
  run(exchange: Exchange): StageResult | Promise<StageResult | undefined>
}
