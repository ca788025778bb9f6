import type { Duplex, Readable } from 'node:stream'
import type { Action } from '../../core/action/action.ts'
import type { Named, OutboundEdit } from '../../core/connectors/connector.ts'
import type { EventFormat } from '../../core/connectors/event-format.ts'
import type { Handle } from '../../core/connectors/handles/handle.ts'
import type { BoundConnector } from '../../core/connectors/registry.ts'
import type { Decision } from '../../core/decision/decision.ts'
import type { HandleOwner } from '../../core/decision/handle-owner.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { CanonicalRequest, RawHeaders, RawRequest } from '../../core/request/canonical.ts'
import type { Sliced } from '../../core/sliced.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import type { RefusalRow } from '../../core/state/refusal-windows.ts'
import type { GivenHandle } from '../../core/wire/gateway/handles.ts'
import type { Instance } from '../../core/wire/gateway/instance.ts'
import type { AgentEntry } from '../../core/wire/gateway/sync.ts'
import type { MessageRoom } from './body/body-budget.ts'
import type { BodyScan } from './body/body-scan.ts'
import type { OrderedAction } from './classification/ordered-action.ts'
import type { ProvisionalClassification } from './classification/provisional-classification.ts'
import type { ExchangeAbort } from './exchange-abort.ts'
import type { OpenIntent } from './ports.ts'
import type { RefusalRecord } from './record/refusal-record.ts'
import type { EchoMask } from './response/echo-mask.ts'
import type { SystemOrder } from './system-order.ts'

/** Transport on which a request arrived. All transports use the same pipeline. */
export type Transport =
  | 'absolute'
  | 'connect-h1'
  | 'connect-h2'
  | 'port-absolute'
  | 'port-h1'
  | 'port-h2'
  | 'connect'
  /** A message of a WebSocket connection. */
  | 'websocket'
  /** An order of the control plane, without a listener. */
  | 'order'
  /** A request of the gateway itself that cancels work of an agent, without a listener. */
  | 'system'

/**
 * `http`: one request and its reply. `upgrade`: a request that becomes a raw stream (WebSocket).
 * `tunnel`: a CONNECT that is not decrypted (host without connector, or passthrough).
 */
export type ExchangeKind = 'http' | 'upgrade' | 'tunnel'

/** A port of one agent that requires its key: a local port, or the socket for captured commands. */
export type KeyedPort = {
  readonly agent: string
  /** Reports whether `key` is the port key of the agent. The agent's API key is verified separately. */
  readonly accepts: (agent: AgentEntry, key: string) => boolean
}

/**
 * Credentials by which the agent is identified. `port`: the port alone (a pod, an order of the control plane). `basic`:
 * `Proxy-Authorization: Basic name:key`, which must name the agent of `keyedPort` if there is one. `none`: no
 * identification.
 */
export type Credentials =
  | { readonly kind: 'port'; readonly agent: string }
  | { readonly kind: 'basic'; readonly header: string; readonly keyedPort?: KeyedPort }
  | { readonly kind: 'none'; readonly keyedPort?: KeyedPort }

/** Request body that a listener provides. The body is read once; `forward` repeats bytes that `buffer` has read. */
export type RequestBody = {
  /** True when the framing declares no body. */
  readonly isEmpty: boolean
  /** Returns the whole body if it has arrived, otherwise null. The bytes stay available for `forward`. */
  arrived(): Buffer | null
  /**
   * Resolves with the whole body; null when the body is longer than `limit` bytes. The bytes stay available for
   * `forward`. Rejects when the client disconnects.
   */
  buffer(limit: number): Promise<Buffer | null>
  /**
   * Resolves with the first bytes when `scan` is satisfied, `limit` bytes have arrived, or the body ends. The bytes
   * stay available for a later reader. `scan` receives all bytes so far and returns the number of bytes that it needs
   * before its next call; a number that has already arrived ends the read.
   */
  peek(limit: number, scan: (bytes: Buffer) => number): Promise<Buffer>
  /**
   * Resolves with true once the whole body, or more than `limit`, has arrived, and with false after `ms`. The bytes
   * remain readable. Rejects when the client disconnects.
   */
  endsWithin(ms: number, limit: number): Promise<boolean>
  /** Returns the whole body if it has arrived, otherwise a stream; null when the body is empty. */
  forward(): Buffer | Readable | null
  /** Number of body bytes received so far. */
  readonly bytesIn: number
  /** Discards buffered bytes. The body is not read again. */
  release(): void
}

/** Reply to the client in its HTTP version. The pipeline calls exactly one of `send`, `stream` and `upgrade`, once. */
export type Reply = {
  readonly isStarted: boolean
  /**
   * Sends a complete response. Adds the framing, so `headers` must contain none. An unread request body is drained, or
   * the connection is closed.
   */
  send(status: number, headers: RawHeaders, body: Buffer | string): void
  /** Starts the upstream's response. `headers` has no hop-by-hop fields; the listener sets the framing. */
  stream(status: number, headers: RawHeaders, hasBody: boolean): ReplyStream
  /** Sends an interim response, for example 103. The listener itself sends 100 when the request body is first read. */
  interim(status: number, headers: RawHeaders): void
  /** Hijacks the connection: writes the head unchanged and returns the raw stream. Only for upgrades and tunnels. */
  upgrade(head: string): Duplex
  /**
   * Pings the client if the protocol allows it. Resolves with false if the client does not answer or read. Never
   * rejects.
   */
  isThere?(): Promise<boolean>
  /** Event stream that was started while the request was held. The response is then sent as its events. */
  readonly events?: OpenEvents | undefined
  readonly bytesOut: number
}

export type OpenEvents = {
  readonly format: EventFormat
  /** Cuts a stream that gets no response, so that the client sees it as incomplete. */
  cut(): void
}

export type ReplyStream = {
  /** Returns false when the client reads slowly. Writing continues after `onDrain`. */
  write(chunk: Buffer): boolean
  onDrain(callback: () => void): void
  end(trailers?: RawHeaders): void
  /** Promise that settles when all bytes are written. Set by `end` while the response is still edited. */
  readonly ended?: Promise<undefined> | null
  /** Cuts the connection, so that the client cannot take the response for complete. */
  destroy(): void
}

/** Result of the exchange. The stages set it, and the pipeline writes it to the record at the end. */
export type Outcome = {
  status: number | null
  /** Reason of a refusal, from the list in spec 4.5; null without a refusal. */
  denyReason: DenyReason | null
  errorCode: ErrorCode | null
  /** Error type of an upstream failure: `401 | 429 | 500 | timeout | connect | tls`. */
  errorType: string | null
  note: string | null
  reason: string | null
  /**
   * Monotonic times in ms: start of the upstream request (ends the gateway's overhead), arrival of the response head.
   */
  upstreamStartedAt: number | null
  upstreamHeadAt: number | null
  /** Milliseconds for which the request waited for an approver. */
  heldMs: number
  /** True when the upstream returned the injected credential, and the gateway masked it. */
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
  /** The approved state changed before the request was sent. */
  | 'approval_void'
  | 'ambiguous'
  | 'not_ready'
  | 'rate_limit'
  | 'agent'
  | 'address'
  | 'credential'

/** State of one request. A listener creates it before parsing, stages set its fields, and the pipeline completes it. */
export type Exchange = {
  /** Request id `req_…`, sent as X-Request-Id. */
  readonly id: string
  /** Monotonic time in milliseconds at which the request was accepted (`performance.now()`). */
  readonly acceptedAt: number
  /** Unix time in milliseconds at which the request was accepted. */
  readonly timeMs: number
  readonly kind: ExchangeKind
  readonly transport: Transport
  readonly raw: RawRequest
  readonly credentials: Credentials
  readonly body: RequestBody
  /** Reply of the listener. An event reply wraps it for a held request whose client accepts server-sent events. */
  reply: Reply
  /** Fires once when the client disconnects or the kill switch cuts the exchange; `signal.reason` has the cause. */
  readonly abort: ExchangeAbort
  /** Set by the listener for a malformed request head. The pipeline answers the request, so that it has a record. */
  readonly malformed?:
    | { readonly code: ErrorCode; readonly detail: string; readonly reason?: 'unknown_host' }
    | undefined
  /** Set when the control plane ordered the request. */
  readonly order?: OrderedAction | undefined
  /** Set when the gateway itself sends the request, because of a kill switch. */
  readonly system?: SystemOrder | undefined
  /** WebSocket connection of a message; set only for messages. */
  readonly channel?: MessageChannel | undefined

  /** The parsed request. With a connector, its query no longer contains the agent's credentials. */
  request?: CanonicalRequest | undefined
  /** True when the removal of credentials also removed a query parameter that may select the target. */
  losesParameter?: boolean | undefined
  snapshot?: Snapshot | undefined
  agent?: AgentEntry | undefined
  /** Instance of the agent when the request arrived; absent outside of a pod. */
  instance?: Instance | undefined
  connector?: BoundConnector | undefined
  /** Classification by the request line; undefined when the body was needed. */
  provisional?: ProvisionalClassification | undefined
  /** All actions in `named` as one list: those that the request performs or may perform. */
  actions?: readonly Action[] | undefined
  /** Classification of the request, which contains candidates while the actual action is undetermined. */
  named?: Named | undefined
  /** The whole body, set when a stage has read it. */
  bodyBytes?: Buffer | undefined
  /** Result of the scan of the whole body. */
  scan?: BodyScan | undefined
  /** Bytes reserved in the budget of buffered bodies; maintained by `body-budget.ts`. */
  reservedBytes?: number | undefined
  /** True when the request is held while its client is still sending. The whole body is then unknown. */
  isOpenEnded?: boolean | undefined
  decision?: Decision | undefined
  /** Approval that was spent for exactly this request. */
  approvalId?: string | undefined
  /** Members that the gateway added to the body, so that the provider accepts only the approved state. */
  completedWith?: readonly string[] | undefined
  /** Approval that was requested for the exchange, whatever its verdict. */
  holdId?: string | undefined
  actId?: string | undefined
  /** True while the request waits for an approver. The value stays true for the record of an abandoned hold. */
  isWaiting?: boolean | undefined
  outbound?: OutboundEdit | undefined
  /** Masks the injected credential in the response. Set when the credential is injected. */
  echoMask?: EchoMask | null | undefined
  /** Id and sequence number of the record, which are set with the intent, so that intent and result are one record. */
  recordId?: string | undefined
  intentSeq?: number | undefined
  /** Sets the id of the record when the exchange is refused. The pipeline sets this field. */
  assignRecord?: ((exchange: Exchange) => void) | undefined
  /** Runs exchanges inside this one, for the messages of a WebSocket. The pipeline sets this field. */
  inner?: InnerExchanges | undefined
  /** Aggregate record that counts this refusal; undefined when the refusal has its own record. */
  refusalRow?: RefusalRow<RefusalRecord> | undefined
  /** Intent in the journal, written before the request was sent upstream. */
  intent?: OpenIntent | undefined
  /** `timeMs` in ISO 8601. Intent and result have the same text. */
  time?: string | undefined
  /** Bytes forwarded in each direction of an upgraded or tunneled connection. */
  tunnelBytes?: { up: number; down: number } | undefined
  /** Hashes of the provider handles that the request names; `handle` is the strictest owner among them. */
  namedHandles?: readonly string[] | undefined
  /** Handles in an uploaded form or file; `unread` if the upload was not read and may name any handle. */
  uploadedHandles?: readonly Handle[] | 'unread' | undefined
  handle?: HandleOwner | undefined
  /** Handles that the provider gave to the agent in its response. */
  given?: GivenHandle[] | undefined
  /** Called with the beginning of every response message on a WebSocket. */
  onAnswerMessage?: ((head: string) => void) | undefined
  /** Number of tools that were removed from the response to `tools/list`. */
  hiddenTools?: number | undefined
  /** Name of the current or last stage. */
  stage?: string | undefined
  outcome: Outcome
}

/** An open WebSocket connection, as the exchange of one of its messages uses it. */
export type MessageChannel = {
  /** Type of the connector that owns the WebSocket. */
  readonly connectorType: string
  /** Name of the response events of the message (`stream_id`); null when they have none. */
  readonly lane: string | null
  /** Sends the message upstream. Resolves after its response; rejects with a ChaperoneError if it was not sent. */
  forward(exchange: Exchange): Promise<undefined>
}

export type InnerExchanges = {
  run(exchange: Exchange): Promise<void>
  newRequestId(): string
  readonly clock: { nowMs(): number; monotonicMs(): number }
  /** Part of the body budget for messages. */
  readonly room: MessageRoom
  /** Runs long work for the exchange in slices, so that other requests are served in between. */
  runSliced<T>(exchange: Exchange, work: Sliced<T>): Promise<T>
}

/** Result of a stage: either it continues, or it has sent the response. Stages are independent of each other. */
export type StageResult = 'continue' | 'responded'
export type Stage = {
  readonly name: string
  /** Runs the stage. A promise of `undefined` means `continue`, so that many requests can share one promise object. */
  run(exchange: Exchange): StageResult | Promise<StageResult | undefined>
}
