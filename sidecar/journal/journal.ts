import { mkdirSync } from 'node:fs'
import type { TrafficRecord } from '../../core/record.ts'
import { LIMITS } from '../../core/wire/schema/limits.ts'
import type { AfterRecord, AggregateRow, JournalPort, OpenIntent } from '../pipeline/ports.ts'
import { encodeRecord } from '../pipeline/record/record-json.ts'
import { type Backlog, createBacklog } from './backlog.ts'
import { damageReport } from './damage-report.ts'
import { GroupCommit } from './group-commit.ts'
import { type JournalBatch, type JournalDeps, type JournalState, SYNC_TIMEOUT_MS } from './journal-deps.ts'
import { EARLY_ROTATION_BYTES, type JournalSize, journalSize } from './journal-size.ts'
import { line } from './line.ts'
import { LineBuffer } from './line-buffer.ts'
import { createLostRanges, type LostRange, type LostRanges } from './lost-ranges.ts'
import { OpenAggregates } from './open-aggregates.ts'
import { type IntentGroup, OpenIntents } from './open-intents.ts'
import { Outage } from './outage.ts'
import { PendingResults } from './pending-results.ts'
import { recoverSegments } from './recovery/recover.ts'
import { createRecoveredRecords, logTorn, type RecoveredRecords } from './recovery/recovered-records.ts'
import { lostLine } from './recovery/sequence-recovery.ts'
import { SYSTEM_FILES } from './segments/files.ts'
import { Segments } from './segments/segments.ts'
import { Sequence } from './sequence.ts'
import { Turn } from './turn.ts'
import { journalUnavailable, unavailableText } from './unavailable.ts'

/**
 * Write-ahead journal in append-only segments `DIR/<processId>-<n>.jsonl`: the intent is written before the first byte
 * goes upstream, the result afterwards. Opening recovers the segments of earlier processes: unacknowledged results are
 * uploaded again under their ids, and intents without a result become records with the note `unknown`. Only the holder
 * of the lock of the data folder may open the journal.
 */
export class Journal implements JournalPort {
  readonly processId: string
  readonly dir: string
  readonly #deps: JournalDeps
  readonly #backlog: Backlog
  readonly #results: PendingResults
  readonly #lost: LostRanges = createLostRanges()
  readonly #size: JournalSize
  readonly #commits: GroupCommit
  readonly #outage: Outage
  /**
   * Assigns the sequence numbers of the records. The numbers are tracked from the first turn of the event loop in which
   * the snapshot has `audit: sync`.
   */
  readonly #sequence: Sequence
  readonly #open = new OpenIntents()
  readonly #rows = new OpenAggregates()
  readonly #segments: Segments
  readonly #recovered: RecoveredRecords
  #isClosed = false
  /** Lines of this turn of the event loop. One system call at the end of the turn writes the lines of all requests. */
  readonly #lines = new LineBuffer()
  readonly #turn: Turn
  readonly afterWrite: AfterRecord

  constructor(deps: JournalDeps) {
    mkdirSync(deps.dir, { recursive: true, mode: 0o700 })
    this.processId = deps.processId
    this.dir = deps.dir
    this.#deps = deps
    this.#turn = new Turn(() => this.#writeTurn(), deps.log)
    this.afterWrite = this.#turn.afterWrite
    this.#sequence = new Sequence(deps.processId)
    const files = deps.files ?? SYSTEM_FILES
    this.#size = journalSize(deps.maxBytes)
    const recovery = recoverSegments(deps.dir)
    const report = damageReport({ lost: this.#lost, lines: this.#lines, turn: this.#turn, log: deps.log })
    this.#backlog = createBacklog(recovery.segments, { files, onDamage: report })
    this.#results = new PendingResults({
      backlog: this.#backlog,
      lost: this.#lost,
      open: this.#open,
      sequence: this.#sequence,
    })
    this.#segments = new Segments({
      dir: deps.dir,
      processId: deps.processId,
      log: deps.log,
      files,
      backlog: this.#backlog,
      carried: () => this.#carried(),
      onBegun: () => this.#open.clearRejected(),
      onUnsynced: (error) => this.#outage.begin('sync', error),
    })
    this.#outage = new Outage(deps, {
      retry: (isSuspect) => this.#retry(isSuspect),
      ended: () => this.#resume(),
    })
    this.#commits = new GroupCommit({
      sync: () => this.#segments.datasync(),
      timeoutMs: deps.syncTimeoutMs ?? SYNC_TIMEOUT_MS,
      nowMs: () => performance.now(),
      onSynced: (seconds) => deps.metrics?.synced(seconds),
    })
    this.#recovered = createRecoveredRecords(recovery, {
      segments: this.#segments,
      outage: this.#outage,
      backlog: this.#backlog,
      lost: this.#lost,
      log: deps.log,
    })
    logTorn(deps.log, recovery)
    this.#recovered.store()
  }

  get isWritable(): boolean {
    return this.#isUsable && this.bytes + this.#lines.bytes < this.#size.intentBytes
  }

  get state(): JournalState {
    if (!this.#isUsable) return 'unwritable'
    return this.isWritable ? 'ok' : 'full'
  }

  /**
   * Returns the text for requests that are refused while the journal is not writable: the cause, and what to change.
   */
  get problem(): string {
    return unavailableText(this.dir, this.#outage.reason)
  }

  /** Number of results that the control plane has not acknowledged. */
  get pending(): number {
    return this.#backlog.total + this.#results.size
  }

  get bytes(): number {
    return this.#backlog.closedBytes + this.#segments.bytes
  }

  /** Number of records lost since the start: never written, lost on disk, or never accepted by the control plane. */
  get lost(): number {
    return this.#lost.total
  }

  get #isUsable(): boolean {
    return !this.#outage.isOn && !this.#isClosed
  }

  nextSeq(): number {
    return this.#sequence.take()
  }

  drop({ id, seq }: Pick<TrafficRecord, 'id' | 'seq'>, intent: OpenIntent): void {
    this.#open.remove(intent)
    this.#sequence.release(seq)
    this.#lines.addText(line('dropped', JSON.stringify({ id })))
    this.#turn.schedule()
  }

  updateAggregate(row: AggregateRow): void {
    this.#rows.change(row)
    this.#turn.schedule()
  }

  intent(record: TrafficRecord): OpenIntent {
    if (!this.isWritable) throw journalUnavailable(this.dir, this.#outage.reason)
    const open = this.#open.add(record)
    this.#sequence.written(record.seq)
    this.#buffer('intent', encodeRecord(record))
    return open
  }

  result(record: TrafficRecord, json: Buffer, intent?: OpenIntent): void {
    this.#rows.close(record.id)
    this.#results.add(record, json, intent)
    this.#buffer('result', json)
  }

  /** Writes the lines of this turn of the event loop. */
  flush(): void {
    this.#turn.end()
  }

  #writeTurn(): void {
    const isSync = this.#deps.isSync?.() === true
    if (isSync) this.#sequence.track()
    this.#sequence.passed()
    const reservation = this.#sequence.reserve()
    this.#lines.addText(reservation + this.#rows.takeLines())
    const isWritten = this.#write()
    const intents = this.#open.takeGroup()
    if (!isWritten) this.#reject(intents)
    else if (isSync && (intents !== null || reservation !== '')) void this.#commit(intents)
    else intents?.written.resolve(undefined)
    if (this.#segments.bytes >= this.#size.segmentBytes) this.#rotate()
  }

  /**
   * Returns the next batch to upload, oldest records first; empty when none are pending. Rejects when a closed segment
   * cannot be read.
   */
  async nextBatch(max: number): Promise<JournalBatch> {
    if (this.#isUsable) for (const json of this.#results.retry()) this.#lines.add('result', json)
    this.flush()
    const records = await this.#backlog.next(max)
    const batch = { records, lost: this.#lost.list(LIMITS.lostRangesMax) }
    // The lines are flushed first: a record that the control plane has stored must not appear lost after a power loss.
    if (this.#sequence.isTracked && !this.#commits.isFlushed && this.#isUsable) await this.#commit(null)
    return batch
  }

  /** Removes records that the control plane has stored. A segment without unacknowledged results is deleted. */
  acknowledge(ids: Iterable<string>, ranges: readonly LostRange[]): void {
    this.#backlog.remove(ids)
    this.#lost.reported(ranges)
    const isIdle = this.#backlog.active === 0 && this.#results.size === 0
    if (isIdle && this.#segments.bytes > EARLY_ROTATION_BYTES) this.#rotate()
  }

  /** Removes records that the control plane never accepts. Counts `ids` as lost; `ranges` were counted before. */
  abandon(ids: readonly string[], ranges: readonly LostRange[]): void {
    this.#lost.count(ids.length)
    this.acknowledge(ids, ranges)
  }

  close(): void {
    this.flush()
    this.#lines.addText(this.#sequence.end())
    this.#write()
    this.#outage.stop()
    const isEmpty = this.#backlog.active + this.#open.size + this.#rows.size + this.#lost.list(1).length === 0
    this.#segments.close({ isEmpty: isEmpty && this.#isUsable })
    // Results that arrive after the close are lost. The next start records their intents with the note `unknown`.
    this.#isClosed = true
  }

  #buffer(phase: 'intent' | 'result', json: Buffer): void {
    this.#lines.add(phase, json)
    this.#turn.schedule()
  }

  /** Writes the buffered lines with one system call and settles the results among them. Never throws. */
  #write(): boolean {
    const lines = this.#lines.take()
    if (lines.length === 0) return true
    const fits = this.#isUsable && this.bytes + lines.length <= this.#deps.maxBytes
    const isWritten = fits && this.#outage.attempt('write', () => this.#segments.append(lines))
    if (isWritten) this.#commits.wrote()
    else this.#invalidate()
    this.#results.settle(isWritten)
    if (this.#backlog.active >= LIMITS.recordBatchMax) this.#deps.onBatchReady?.()
    return isWritten
  }

  /** Flushes the journal and settles the intents. With null, the flush only makes reserved sequence numbers durable. */
  #commit(intents: IntentGroup | null): Promise<void> {
    return this.#commits.commit().then(
      () => intents?.written.resolve(undefined),
      (error: unknown) => {
        this.#outage.begin('sync', error)
        this.#reject(intents)
      },
    )
  }

  #reject(intents: IntentGroup | null): void {
    if (intents === null) return
    const error = journalUnavailable(this.dir, this.#outage.reason)
    for (const seq of this.#open.reject(intents, error)) this.#sequence.unwritten(seq)
  }

  #rotate(): void {
    if (this.#isUsable)
      this.#outage.attempt('write', () => this.#segments.rotate({ isDurable: this.#sequence.isTracked }))
  }

  /** Returns the first lines of a segment, with copies of open intents, open aggregate records and lost ranges. */
  #carried(): string {
    const lost = this.#lost.list(Number.POSITIVE_INFINITY).map(lostLine).join('')
    return this.#sequence.begin() + this.#open.carried() + this.#rows.carried() + lost
  }

  async #retry(isSuspect: boolean): Promise<void> {
    this.flush()
    if (!isSuspect) this.#segments.reopen()
    else if (this.#commits.isInFlight) throw new Error('the last flush is still in progress')
    else await this.#segments.renew()
  }

  /** Makes the next write repeat counters of aggregate records and reserved numbers, because the last write failed. */
  #invalidate(): void {
    this.#rows.invalidate()
    this.#sequence.invalidate()
  }

  #resume(): void {
    this.#invalidate()
    this.#deps.log.info({ dir: this.dir, lost: this.lost }, 'journal can be written again')
    this.#recovered.store()
  }
}
