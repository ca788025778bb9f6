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
  /** Null until the first snapshot was applied. */
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
  /** When a held request gets events, and how often; those of `LIMITS` when absent. */
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

/** An intent without a result. */
export type OpenIntent = {
  /** Its record, as long as it is open. */
  readonly handle: RegistryHandle<string>
  /** Resolves once it is in the journal, with `audit: sync` on the disk; rejects with `journal_unavailable`. */
  readonly written: Promise<undefined>
}

export type JournalPort = {
  /** False when forwarding must be refused with 503 (full or unwritable). Refusals continue. */
  readonly isWritable: boolean
  /** Why it is not writable, and what to change. */
  readonly problem: string
  /** Writes the intent; nothing is sent upstream before it is written. */
  intent(record: TrafficRecord): OpenIntent
  /**
   * Appends the finished record, given as an object and as JSON, and closes its intent if there was one. Never throws:
   * what cannot be written is counted as lost.
   */
  result(record: TrafficRecord, json: Buffer, intent: OpenIntent | undefined): void
  nextSeq(): number
  /** The request of this intent was counted by a row: it gets no record, and its sequence number is free again. */
  drop(record: Pick<TrafficRecord, 'id' | 'seq'>, intent: OpenIntent): void
  /** The row has changed; written once a turn, until `result` closes it. */
  updateAggregate(row: AggregateRow): void
  readonly processId: string
}

/** A record that still changes. */
export type AggregateRow = {
  readonly id: string
  /** The whole record as JSON. */
  json(): string
  /** `{"id":…,"refusals":{…}}` without the targets: what changes with each refusal. */
  tally(): string
  /** Counts the changes that need the whole record. */
  readonly revision: number
}

export type RefusalPort = {
  /**
   * Gives the exchange, which is refused, the id of its record: its own, or that of the row that counts it. Called once,
   * before the answer.
   */
  assign(exchange: Exchange): void
  /** Adds the finished exchange to the row that counts it; false when it has a record of its own. */
  finished(exchange: Exchange): boolean
}

export type HoldPort = {
  /** Waits for a person. Resolves early when the signal fires. Rejects with ChaperoneError (503, 429). */
  wait(hold: HoldBody, signal: ExchangeSignal): Promise<HoldOutcome>
}

export type HoldOutcome =
  | { readonly kind: 'approved'; readonly approvalId: string; readonly by: string | null }
  | {
      readonly kind: 'denied' | 'expired' | 'cancelled'
      readonly approvalId: string
      readonly note: string | null
    }
  /** The control plane has created an approval and delivers its result; the gateway does not wait. */
  | { readonly kind: 'deferred'; readonly approvalId: string }
  | { readonly kind: 'aborted'; readonly approvalId: string | null }

/** Which agent a provider gave what: sessions, responses, files, threads, batches. */
export type HandlePort = {
  /** Stands for the id: a hash. */
  keyOf(bound: BoundConnector, handle: Handle): string
  give(key: string, agent: AgentEntry): void
  /** Returns owners in the order of the keys; `unknown` without information. Never rejects. */
  ownersOf(
    keys: readonly string[],
    agent: AgentEntry,
  ): readonly HandleOwner[] | Promise<readonly HandleOwner[]>
}

/** Work that providers continue after their answers, for a kill switch to cancel. */
export type HostedWorkPort = {
  started(bound: BoundConnector, agent: AgentEntry, work: StartedWork): void
  /** A resource with one of these ids ended. */
  ended(bound: BoundConnector, kind: string, ids: readonly string[]): void
  /** Work may have started, and its id is unknown: the answer was cut, or has another format. */
  unidentified(): void
}

export type LiveExchangePort = {
  /** Registers something that the kill switch can cut; returns the function that unregisters it. */
  add(exchange: Exchange): () => void
}

export type EventPort = {
  /** Counted once, at accept, whatever follows; it is an active connection until the returned function is called. */
  accepted(exchange: Exchange): () => void
  /** Record (as an object and as JSON), metrics and log line of one finished request, in one call. */
  finished(exchange: Exchange, record: TrafficRecord, json: Buffer): void
  /** Metrics of a finished refusal that a row counts. */
  counted(exchange: Exchange, record: TrafficRecord): void
  /** A row that counts nothing more: its log line. */
  rowFinished(record: TrafficRecord, json: Buffer): void
}
