import type { Action } from '../../core/action/action.ts'
import type { Named, OutboundEdit } from '../../core/connectors/connector.ts'
import type { Handle } from '../../core/connectors/handles/handle.ts'
import { actionsOf } from '../../core/connectors/named-action.ts'
import type { BoundConnector } from '../../core/connectors/registry.ts'
import type { Decision } from '../../core/decision/decision.ts'
import type { HandleOwner } from '../../core/decision/handle-owner.ts'
import type { ErrorCode } from '../../core/errors.ts'
import type { CanonicalRequest, RawRequest } from '../../core/request/canonical.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import type { RefusalRow } from '../../core/state/refusal-windows.ts'
import type { GivenHandle } from '../../core/wire/gateway/handles.ts'
import type { Instance } from '../../core/wire/gateway/instance.ts'
import type { AgentEntry } from '../../core/wire/gateway/sync.ts'
import type { BodyScan } from './body/body-scan.ts'
import type { OrderedAction } from './classification/ordered-action.ts'
import type { ProvisionalClassification } from './classification/provisional-classification.ts'
import type { Credentials } from './credentials/credentials.ts'
import type { ExchangeAbort } from './exchange-abort.ts'
import type { InnerExchanges, MessageChannel } from './inner-exchanges.ts'
import type { Outcome } from './outcome.ts'
import type { AfterRecord, NarrowedAnswer, OpenIntent } from './ports.ts'
import type { RecordNames } from './record/record-names.ts'
import type { RefusalRecord } from './record/refusal-record.ts'
import type { Reply } from './reply.ts'
import type { RequestBody } from './request-body.ts'
import type { RequestTemplate } from './request-template.ts'
import type { AnswerBudget } from './response/answer-budget.ts'
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
  /** An action that the control plane orders the gateway to execute, without a listener. */
  | 'order'
  /** A request of the gateway itself (a cancellation or a credential test), without a listener. */
  | 'system'

/**
 * `http`: one request and its reply. `upgrade`: a request that becomes a raw stream (WebSocket).
 * `tunnel`: a CONNECT that is not decrypted (host without connector, or passthrough).
 */
export type ExchangeKind = 'http' | 'upgrade' | 'tunnel'

/**
 * Problem of a request head that the listener found. The pipeline answers the request, so that the request has a
 * record.
 */
export type Malformed = {
  readonly code: ErrorCode
  readonly detail: string
  readonly reason?: 'unknown_host'
}

/** Services of the pipeline for each exchange that it runs. */
export type ExchangeServices = {
  /** Sets the id of the record of an exchange that is refused. */
  assignRecord(exchange: Exchange): void
  /** Delays refusals until their record is written. */
  readonly afterRecord: AfterRecord
  /** Runs the exchanges of the messages of a WebSocket, inside the exchange of its handshake. */
  readonly inner: InnerExchanges
}

/** Parts of an exchange that its listener provides. */
export type ExchangeParts = Pick<
  Exchange,
  'id' | 'acceptedAt' | 'timeMs' | 'kind' | 'transport' | 'raw' | 'credentials' | 'body' | 'reply' | 'abort'
> & {
  readonly problem?: Malformed | null
  /** Set when the control plane ordered the request. */
  readonly order?: OrderedAction
  /** Set for a request of the gateway itself: a cancellation or a credential test. */
  readonly system?: SystemOrder
  readonly channel?: MessageChannel
  readonly template?: RequestTemplate | null
  /** The whole body when it has arrived before the exchange began. */
  readonly bodyBytes?: Buffer | undefined
  readonly actId?: string
}

/**
 * State of one request. A listener creates it before parsing, and the pipeline completes it. Each phase adds fields,
 * which only the functions of `phases.ts` set. All fields are set at creation, so that all exchanges share one hidden
 * class of V8.
 */
export class Exchange {
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
  /**
   * Fires once when the exchange must end, for example when the client disconnects or a kill switch aborts the
   * exchange; `signal.reason` has the cause.
   */
  readonly abort: ExchangeAbort
  /** Set by the listener for a malformed request head. */
  malformed: Malformed | undefined
  /** Set when the control plane ordered the request. */
  readonly order: OrderedAction | undefined
  /** Set for a request of the gateway itself: a cancellation or a credential test. */
  readonly system: SystemOrder | undefined
  /** WebSocket connection of a message; set only for messages. */
  readonly channel: MessageChannel | undefined
  /** Cached results for requests with an equal head on the same connection; null where nothing is cached. */
  readonly template: RequestTemplate | null
  /** The request as parsed, which may contain credentials of the agent in its query. */
  readonly read: CanonicalRequest | undefined = undefined
  /** The request that is evaluated. With a connector, its query no longer contains the agent's credentials. */
  readonly request: CanonicalRequest | undefined = undefined
  /** True when the removal of credentials also removed a query parameter that may select the target. */
  readonly losesParameter: boolean = false
  readonly snapshot: Snapshot | undefined = undefined
  readonly agent: AgentEntry | undefined = undefined
  /** Instance of the agent when the request arrived; absent outside of a pod. */
  instance: Instance | undefined = undefined
  readonly connector: BoundConnector | undefined = undefined
  /** The whole body, set when a stage has read it. */
  bodyBytes: Buffer | undefined
  /** Result of the scan of the whole body. */
  scan: BodyScan | undefined = undefined
  /** Bytes reserved in the budget of buffered bodies; maintained by `body-reader.ts`. */
  reservedBytes: number | undefined = undefined
  /** True when the request is held while its client is still sending. The whole body is then unknown. */
  isOpenEnded: boolean | undefined = undefined
  /** Approval that was spent for exactly this request. */
  approvalId: string | undefined = undefined
  /** Members that the gateway added to the body, so that the provider accepts only the approved state. */
  completedWith: readonly string[] | undefined = undefined
  /** Approval that was requested for the exchange, regardless of its verdict. */
  holdId: string | undefined = undefined
  actId: string | undefined
  /** True while the request waits for an approver. The value stays true for the record of an abandoned hold. */
  isWaiting: boolean | undefined = undefined
  readonly outbound: OutboundEdit | undefined = undefined
  /** Narrowed token of the exchange, or the reason why it has none; null for a connector without such tokens. */
  narrowed: Exclude<NarrowedAnswer, { kind: 'unavailable' }> | null = null
  /**
   * True when the request is sent again because the upstream refused its short-lived credential. A request is sent
   * again at most once.
   */
  isRepeated = false
  /**
   * Masks the injected credential in the response. Set when the credential is injected; null when the credential has no
   * text to mask.
   */
  echoMask: EchoMask | null | undefined = undefined
  /**
   * Id and sequence number of the record. Intent and result have the same id and number, and are therefore one record.
   */
  recordId: string | undefined = undefined
  intentSeq: number | undefined = undefined
  /** Set when the pipeline begins to run the exchange. */
  readonly services: ExchangeServices | undefined = undefined
  /** Aggregate record that counts this refusal; undefined when the refusal has its own record. */
  refusalRow: RefusalRow<RefusalRecord> | undefined = undefined
  /**
   * Intent in the journal, written before the request is sent upstream; undefined again once the result is recorded.
   */
  readonly intent: OpenIntent | undefined = undefined
  /**
   * Monotonic time in ms at which the gateway began to send the request upstream. The overhead of the gateway
   * (`overhead_ms` of the record) ends at this time.
   */
  readonly sentAt: number | undefined = undefined
  /** Monotonic time in ms at which the head of the response arrived. */
  readonly answeredAt: number | undefined = undefined
  /** `timeMs` in ISO 8601. Intent and result have the same text. */
  time: string | undefined = undefined
  /** Bytes forwarded in each direction of an upgraded or tunneled connection. */
  tunnelBytes: { up: number; down: number } | undefined = undefined
  /** Handles that the provider returned to the agent in its response. */
  given: GivenHandle[] | undefined = undefined
  /** Time budget of the stages of the response; undefined without a stage that uses the budget. */
  answerBudget: AnswerBudget | undefined = undefined
  /** True while the exchange counts for the limit of concurrent exchanges of its agent. */
  isAdmitted = false
  /** Called with the beginning of every response message on a WebSocket. */
  onAnswerMessage: ((head: string) => void) | undefined = undefined
  /** Name of the current or last stage. */
  stage: string | undefined = undefined
  readonly outcome: Outcome = {
    status: null,
    denyReason: null,
    errorCode: null,
    errorType: null,
    note: null,
    reason: null,
    heldMs: 0,
    isEchoMasked: false,
  }
  /** Classification and decision under the current snapshot. Each evaluation replaces the previous one as a whole. */
  readonly evaluation: Evaluation = NOT_EVALUATED

  constructor(parts: ExchangeParts) {
    this.id = parts.id
    this.acceptedAt = parts.acceptedAt
    this.timeMs = parts.timeMs
    this.kind = parts.kind
    this.transport = parts.transport
    this.raw = parts.raw
    this.credentials = parts.credentials
    this.body = parts.body
    this.reply = parts.reply
    this.abort = parts.abort
    this.malformed = parts.problem ?? undefined
    this.order = parts.order
    this.system = parts.system
    this.channel = parts.channel
    this.template = parts.template ?? null
    this.bodyBytes = parts.bodyBytes
    this.actId = parts.actId
  }

  /** Classification by the request line; undefined when the body was needed. */
  get provisional(): ProvisionalClassification | undefined {
    return this.evaluation.provisional
  }

  get actions(): readonly Action[] | undefined {
    return this.evaluation.actions
  }

  /** Classification of the request, which contains candidates while the actual action is undetermined. */
  get named(): Named | undefined {
    return this.evaluation.named
  }

  get decision(): Decision | undefined {
    return this.evaluation.decision
  }
}

/**
 * Classification of a request, and the decision about it, under one snapshot and one state of its body. Nothing of an
 * evaluation is kept when the request is evaluated again.
 */
export class Evaluation {
  /** Classification by the request line; undefined when the body was needed. */
  provisional: ProvisionalClassification | undefined = undefined
  named: Named | undefined = undefined
  decision: Decision | undefined = undefined
  /** Handles in an uploaded form or file; `unread` if the upload was not read and may name any handle. */
  uploadedHandles: readonly Handle[] | 'unread' | undefined = undefined
  /**
   * Hashes of the provider handles that the request names. `handle` contains their owner; with several handles, the
   * owner that is treated most strictly.
   */
  namedHandles: readonly string[] | undefined = undefined
  handle: HandleOwner | undefined = undefined
  /**
   * Fields (`RecordNames`) of the record; null until they are first needed. They are cached, because the record is
   * built twice: for the intent and for the result.
   */
  names: RecordNames | null = null

  /** All actions in `named` as one list: those that the request performs or may perform. */
  get actions(): readonly Action[] | undefined {
    return this.named === undefined ? undefined : actionsOf(this.named)
  }
}

/** Evaluation of a request that is not evaluated yet. */
export const NOT_EVALUATED: Evaluation = Object.freeze(new Evaluation())
