import type { NeededAction, TokenNeed } from '../../core/connectors/credentials/token-need.ts'
import type { Handle } from '../../core/connectors/handles/handle.ts'
import type { StartedWork } from '../../core/connectors/hosted-work/started-work.ts'
import type { BoundConnector } from '../../core/connectors/registry.ts'
import type { HandleOwner } from '../../core/decision/handle-owner.ts'
import type { OwnRecord, TrafficRecord } from '../../core/record.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import type { LeaseStep } from '../../core/state/lease.ts'
import type { Taken } from '../../core/state/sliding-window.ts'
import type { HoldBody, HoldReply } from '../../core/wire/gateway/hold.ts'
import type { Instance } from '../../core/wire/gateway/instance.ts'
import type { KillEntry } from '../../core/wire/gateway/kill.ts'
import type { AgentEntry, ConnectorEntry } from '../../core/wire/gateway/sync.ts'
import type { RegistryHandle } from '../collections/registry.ts'
import type { LookUpPort } from '../upstream/look-ups.ts'
import type { Exchange } from './exchange.ts'
import type { ExchangeSignal } from './exchange-abort.ts'

/** Dependencies of the stages on the rest of the process. `gateway-core.ts` composes them. */
export type PipelinePorts = {
  /** Returns the current snapshot; null before the first one was applied. */
  snapshot(): Snapshot | null
  /** Returns the instance of the agent in this pod; null outside of a pod. */
  instance(): Instance | null
  readonly kill: KillPort
  readonly lease: { step(): LeaseStep }
  readonly rate: { take(agent: string, perMinute: number, claim?: string): Taken | Promise<Taken> }
  readonly journal: JournalPort
  readonly holds: HoldPort
  readonly lookUps: LookUpPort
  readonly credentials: CredentialPort
  readonly narrowed: NarrowedTokenPort
  readonly live: LiveExchangePort
  readonly events: EventPort
  readonly refusals: RefusalPort
  readonly handles: HandlePort
  readonly hostedWork: HostedWorkPort
  readonly clock: { nowMs(): number; monotonicMs(): number }
  /** Timing of server-sent events for held requests. When absent, `LIMITS` applies. */
  readonly heldEvents?: { readonly openAfterMs: number; readonly everyMs: number }
  readonly newId: (kind: 'request' | 'record' | 'actionRequest') => string
}

export type KillPort = {
  /**
   * Returns the kill switch entry that covers the agent or one of the connector names; null when there is none.
   * `connectors` has the type and the name of the connector; empty while no connector is determined.
   */
  match(subject: {
    agent: string | null
    agentId: string | null
    connectors: readonly string[]
  }): KillEntry | null
}

/** An intent in the journal that has no result yet. */
export type OpenIntent = {
  /** Reference to the intent in the registry of open intents. */
  readonly handle: RegistryHandle<TrafficRecord>
  /** Resolves when the intent is in the journal (with `audit: sync` on disk). Rejects with `journal_unavailable`. */
  readonly written: Promise<undefined>
}

/** Calls `send` when the records of this turn of the event loop are in the journal, or when their write failed. */
export type AfterRecord = (send: () => void) => void

export type JournalPort = {
  /**
   * False when the journal is full or cannot be written. Requests that would be forwarded are then refused with 503.
   * Refusals are not affected.
   */
  readonly isWritable: boolean
  /** Text with the reason why the journal cannot be written, and the remedy. */
  readonly problem: string
  /**
   * Writes the intent. No request is sent upstream before its intent is written. Throws `journal_unavailable` while the
   * journal is not writable.
   */
  intent(record: TrafficRecord): OpenIntent
  /**
   * Appends the finished record, given as an object and as JSON, and closes its intent. Copies the JSON, whose bytes
   * the caller may reuse. Never throws: a record that cannot be written is retried when it has an intent, and otherwise
   * counts as lost.
   */
  result(record: TrafficRecord, json: Buffer, intent: OpenIntent | undefined): void
  nextSeq(): number
  readonly afterWrite: AfterRecord
  /**
   * Drops the intent of a request that an aggregate record counts. The request gets no record of its own, and its
   * sequence number is assigned again.
   */
  drop(record: Pick<TrafficRecord, 'id' | 'seq'>, intent: OpenIntent): void
  /**
   * Schedules an update of the aggregate record. Updates are written at most once in a turn of the event loop, until
   * `result` closes the record.
   */
  updateAggregate(row: AggregateRow): void
  readonly processId: string
}

/** An aggregate record that still changes. */
export type AggregateRow = {
  readonly id: string
  /** Returns the whole record as JSON. */
  json(): string
  /** Returns `{"id":…,"refusals":{…}}` without the targets: the part of the record that changes with each refusal. */
  tally(): string
  /** Number of changes for which the whole record must be written. */
  readonly revision: number
}

export type RefusalPort = {
  /**
   * Sets the record id of a refused exchange: the id of its own record, or of the aggregate record that counts the
   * exchange. Called once, before the response.
   */
  assign(exchange: Exchange): void
  /** Adds the finished exchange to its aggregate record. Returns false when the exchange has its own record. */
  finished(exchange: Exchange): boolean
}

export type HoldPort = {
  /**
   * Waits for the verdict of an approver. Resolves early when the signal fires. Rejects with a ChaperoneError (503,
   * 429).
   *
   * @param problem Returns the reason why the request could not be sent now; null when it could be sent. If there is
   *   a reason, the approval is not spent.
   * @param prepare Fetches the token that the request needs, if any, before `problem` is called. Never rejects.
   */
  wait(
    hold: HoldBody,
    signal: ExchangeSignal,
    problem?: () => string | null,
    prepare?: () => Promise<void>,
  ): Promise<HoldOutcome>
  /** Creates the card of an access request. No request of the agent is held for such a card. Rejects as `wait` does. */
  open(hold: HoldBody): Promise<HoldReply>
}

export type HoldOutcome =
  | { readonly kind: 'approved'; readonly approvalId: string; readonly by: string | null }
  | {
      readonly kind: 'denied' | 'expired' | 'cancelled'
      readonly approvalId: string
      readonly note: string | null
    }
  /**
   * The request cannot be sent for the reason in `note`. The approval is not spent, and can still release a later
   * request.
   */
  | { readonly kind: 'unavailable'; readonly approvalId: string; readonly note: string }
  /**
   * The approval was created for an action that the control plane ordered. The gateway does not wait, because the
   * control plane delivers the verdict later.
   */
  | { readonly kind: 'deferred'; readonly approvalId: string }
  | { readonly kind: 'aborted'; readonly approvalId: string | null }

/** Owners of provider handles: the agent to which a provider returned a session, response, file, thread or batch. */
export type HandlePort = {
  /** Returns the hash that represents the handle. */
  keyOf(bound: BoundConnector, handle: Handle): string
  give(key: string, agent: AgentEntry): void
  /** Returns the owner of each key, in the same order; `unknown` where there is no information. Never rejects. */
  ownersOf(
    keys: readonly string[],
    agent: AgentEntry,
  ): readonly HandleOwner[] | Promise<readonly HandleOwner[]>
}

type EndedWork = { readonly kind: string; readonly ids: readonly string[] }

/** Hosted work: work that a provider continues after its response. A kill switch cancels it. */
export type HostedWorkPort = {
  started(bound: BoundConnector, agent: AgentEntry, work: StartedWork): void
  /** Reports that the hosted work of the agent with one of these ids has ended. */
  ended(bound: BoundConnector, agent: AgentEntry, work: EndedWork): void
  /**
   * Reports that work may have started, but that its id is unknown: the response was truncated or has another format.
   */
  unidentified(): void
}

/** A short-lived credential that the upstream refused, and the host and port of the request that carried it. */
export type RefusedSecret = {
  readonly connectorId: string
  readonly serial: number
  readonly host: string
  readonly port: number
}

export type CredentialPort = {
  /**
   * Returns false when the last refresh of the Connector is too recent for another one, and when a refresh did not
   * help: the upstream also refused the credential that the refresh brought.
   */
  mayRefresh(refused: RefusedSecret): boolean
  /**
   * Reports that the upstream refused a repeated request too. If the repeated request carried a new credential, that
   * credential is not refreshed.
   */
  refusedAgain(refused: RefusedSecret): void
  /**
   * Makes the control plane replace the credential. Resolves when the snapshot has another credential, or after a few
   * seconds. All requests of a Connector share one refresh. Never rejects.
   */
  refresh(refused: RefusedSecret): Promise<void>
  /**
   * Evaluates `isSettled` for each new snapshot. Resolves when it returns true, when the signal fires, or after a few
   * seconds; immediately while the control plane is not connected. Never rejects.
   */
  untilSettled(isSettled: () => boolean, signal: ExchangeSignal): Promise<void>
}

/** A token that is narrowed to the actions of one request. */
export type NarrowedSecret = {
  /** Id of the token in records and audit events. */
  readonly id: string
  readonly secret: string
  /** Serial number of the Connector's credential when the token was issued. */
  readonly serial: number
  /**
   * Hash of the credential's specification and of the stored credential. The gateway does not send a token whose hash
   * differs from the current hash.
   */
  readonly source: string
  /** Repositories and permissions of the token. */
  readonly scope: readonly string[]
  readonly expiresAtMs: number
}

/**
 * Request for a token: the entry of the Connector, the actions of the request, and the repositories and permissions
 * that these actions need together.
 */
export type TokenRequest = {
  readonly entry: ConnectorEntry
  readonly actions: readonly NeededAction[]
  readonly need: TokenNeed
}

/**
 * `token`: the narrowed token. `whole`: the token of the Connector must be sent instead, for the reason in `reason`.
 * `unavailable`: no token can be sent.
 */
export type NarrowedAnswer =
  | { readonly kind: 'token'; readonly token: NarrowedSecret }
  | { readonly kind: 'whole'; readonly reason: string }
  | { readonly kind: 'unavailable'; readonly reason: string }

export type NarrowedTokenPort = {
  /** Returns the cached answer and counts it in the metrics; null when the control plane must be called. */
  cached(request: TokenRequest): NarrowedAnswer | null
  /**
   * Returns the state of the cache. `outdated`: a token that is sent only when the control plane issues no newer one.
   */
  state(request: TokenRequest): 'current' | 'outdated' | 'whole' | 'missing'
  /**
   * Requests a token from the control plane. If that fails, returns the last token while it is valid. Concurrent
   * requests with the same need share one call. Resolves within a few seconds; never rejects.
   */
  fetch(request: TokenRequest): Promise<NarrowedAnswer>
}

export type LiveExchangePort = {
  /** Registers an exchange so that the kill switch can abort it. Returns the function that unregisters it. */
  add(exchange: Exchange): () => void
}

export type EventPort = {
  /** Counts an exchange when it is accepted. The exchange counts as active until the returned function is called. */
  accepted(exchange: Exchange): () => void
  /**
   * Adds a finished request to the recent records, the metrics and the log. The record is given as an object and as
   * JSON, whose bytes the caller may reuse.
   */
  finished(exchange: Exchange, record: OwnRecord, json: Buffer): void
  /** Counts a finished refusal of an aggregate record in the metrics. */
  counted(exchange: Exchange, record: OwnRecord): void
  /** Logs an aggregate record that counts no further refusals. */
  rowFinished(record: TrafficRecord, json: Buffer): void
}
