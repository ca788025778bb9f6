import type { Handle } from '../../core/connectors/handles/handle.ts'
import type { StartedWork } from '../../core/connectors/hosted-work/started-work.ts'
import type { BoundConnector } from '../../core/connectors/registry.ts'
import type { HandleOwner } from '../../core/decision/handle-owner.ts'
import type { TrafficRecord } from '../../core/record.ts'
import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import type { LeaseStep } from '../../core/state/lease.ts'
import type { Taken } from '../../core/state/sliding-window.ts'
import type { HoldBody } from '../../core/wire/gateway/hold.ts'
import type { KillEntry } from '../../core/wire/gateway/kill.ts'
import type { AgentEntry } from '../../core/wire/gateway/sync.ts'
import type { RegistryHandle } from '../collections/registry.ts'
import type { LookUpPort } from '../upstream/look-ups.ts'
import type { Exchange } from './exchange.ts'
import type { ExchangeSignal } from './exchange-abort.ts'

/** Dependencies of the stages on the rest of the process; composed in `gateway.ts`. */
export type PipelinePorts = {
  /** Returns the current snapshot; null before the first one was applied. */
  snapshot(): Snapshot | null
  readonly kill: KillPort
  readonly lease: { step(): LeaseStep }
  readonly rate: { take(agent: string, perMinute: number): Taken | Promise<Taken> }
  readonly journal: JournalPort
  readonly holds: HoldPort
  readonly lookUps: LookUpPort
  readonly live: LiveExchangePort
  readonly events: EventPort
  readonly refusals: RefusalPort
  readonly handles: HandlePort
  readonly hostedWork: HostedWorkPort
  readonly clock: { nowMs(): number; monotonicMs(): number }
  /** Timing of server-sent events for held requests; `LIMITS` when absent. */
  readonly heldEvents?: { readonly openAfterMs: number; readonly everyMs: number }
  readonly newId: (kind: 'request' | 'record' | 'actionRequest') => string
}

export type KillPort = {
  /**
   * Returns the kill switch entry that covers this agent and connector, or null. Pass null for a connector that is
   * not known yet.
   */
  match(subject: {
    agent: string | null
    agentId: string | null
    connectors: readonly string[]
  }): KillEntry | null
}

/** An intent in the journal that has no result yet. */
export type OpenIntent = {
  /** Handle of the open record in the registry of intents. */
  readonly handle: RegistryHandle<string>
  /** Resolves when the intent is in the journal (with `audit: sync` on disk). Rejects with `journal_unavailable`. */
  readonly written: Promise<undefined>
}

export type JournalPort = {
  /**
   * False when the journal is full or cannot be written. Requests are then refused with 503 instead of forwarded;
   * refusals continue.
   */
  readonly isWritable: boolean
  /** Reason why the journal cannot be written, and the remedy. */
  readonly problem: string
  /** Writes the intent. No request is sent upstream before its intent is written. */
  intent(record: TrafficRecord): OpenIntent
  /**
   * Appends the finished record, as an object and as JSON, and closes its intent. Never throws: records that cannot be
   * written count as lost.
   */
  result(record: TrafficRecord, json: Buffer, intent: OpenIntent | undefined): void
  nextSeq(): number
  /**
   * Drops the intent of a request that an aggregate record counts. The request gets no record, and its sequence number
   * is free again.
   */
  drop(record: Pick<TrafficRecord, 'id' | 'seq'>, intent: OpenIntent): void
  /**
   * Schedules an update of the aggregate record, at most once in a turn of the event loop, until `result` closes it.
   */
  updateAggregate(row: AggregateRow): void
  readonly processId: string
}

/** An aggregate record that still changes. */
export type AggregateRow = {
  readonly id: string
  /** Returns the whole record as JSON. */
  json(): string
  /** Returns `{"id":…,"refusals":{…}}` without the targets, which is the part that changes with each refusal. */
  tally(): string
  /** Counts changes for which the whole record must be written. */
  readonly revision: number
}

export type RefusalPort = {
  /**
   * Sets the record id of a refused exchange: its own, or that of the aggregate record that counts it. Called once,
   * before the response.
   */
  assign(exchange: Exchange): void
  /** Adds the finished exchange to its aggregate record. Returns false when the exchange has its own record. */
  finished(exchange: Exchange): boolean
}

export type HoldPort = {
  /** Waits for an approver. Resolves early when the signal fires. Rejects with ChaperoneError (503, 429). */
  wait(hold: HoldBody, signal: ExchangeSignal): Promise<HoldOutcome>
}

export type HoldOutcome =
  | { readonly kind: 'approved'; readonly approvalId: string; readonly by: string | null }
  | {
      readonly kind: 'denied' | 'expired' | 'cancelled'
      readonly approvalId: string
      readonly note: string | null
    }
  /** The approval was created, and the control plane delivers its result later. The gateway does not wait. */
  | { readonly kind: 'deferred'; readonly approvalId: string }
  | { readonly kind: 'aborted'; readonly approvalId: string | null }

/** Owners of provider handles: the agent to which a provider gave a session, response, file, thread or batch. */
export type HandlePort = {
  /** Returns the hash that represents the handle. */
  keyOf(bound: BoundConnector, handle: Handle): string
  give(key: string, agent: AgentEntry): void
  /** Returns the owner of each key, in the same order; `unknown` without information. Never rejects. */
  ownersOf(
    keys: readonly string[],
    agent: AgentEntry,
  ): readonly HandleOwner[] | Promise<readonly HandleOwner[]>
}

/** Hosted work: work that a provider continues after its response. A kill switch cancels it. */
export type HostedWorkPort = {
  started(bound: BoundConnector, agent: AgentEntry, work: StartedWork): void
  /** Reports that a resource with one of these ids ended. */
  ended(bound: BoundConnector, kind: string, ids: readonly string[]): void
  /** Reports that work may have started with an unknown id, because the response was cut or has another format. */
  unidentified(): void
}

export type LiveExchangePort = {
  /** Registers an exchange so that the kill switch can cut it. Returns the function that unregisters it. */
  add(exchange: Exchange): () => void
}

export type EventPort = {
  /** Counts the exchange at accept. It is an active connection until the returned function is called. */
  accepted(exchange: Exchange): () => void
  /** Reports the record (as an object and as JSON), metrics and log line of a finished request. */
  finished(exchange: Exchange, record: TrafficRecord, json: Buffer): void
  /** Counts a finished refusal of an aggregate record in the metrics. */
  counted(exchange: Exchange, record: TrafficRecord): void
  /** Logs an aggregate record that counts no further refusals. */
  rowFinished(record: TrafficRecord, json: Buffer): void
}
