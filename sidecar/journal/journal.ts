import { mkdirSync } from 'node:fs'
import type { ChaperoneError } from '../../core/errors.ts'
import type { TrafficRecord } from '../../core/record.ts'
import { LIMITS } from '../../core/wire/limits.ts'
import type { GrowingRow, JournalPort, OpenIntent } from '../pipeline/ports.ts'
import { recordJson } from '../pipeline/record/record-json.ts'
import { type Backlog, createBacklog } from './backlog.ts'
import { GroupCommit } from './group-commit.ts'
import type { JournalBatch, JournalDeps, JournalState } from './journal-deps.ts'
import { type JournalSize, journalSize, TIDY_BYTES } from './journal-size.ts'
import { line } from './line.ts'
import { LineBuffer } from './line-buffer.ts'
import { createLostRanges, type LostRange, type LostRanges } from './lost-ranges.ts'
import { type IntentGroup, OpenIntents } from './open-intents.ts'
import { OpenRows } from './open-rows.ts'
import { Outage } from './outage.ts'
import { PendingResults } from './pending-results.ts'
import { recoverSegments } from './recovery/recover.ts'
import { logRecovered, type RecoveredRecords, recoveredLines } from './recovery/recovered-records.ts'
import { lostLine } from './recovery/sequence-recovery.ts'
import { SYSTEM_FILES } from './segments/files.ts'
import { Segments } from './segments/segments.ts'
import { Sequence } from './sequence.ts'
import { journalUnavailable, unavailableText } from './unavailable.ts'

/** A disk that takes longer than this for a flush counts as failed. */
const SYNC_TIMEOUT_MS = 10_000

/**
 * Append-only segments `DIR/<processId>-<n>.jsonl`: an intent before the first byte goes upstream, the result after.
 * Opening takes over what earlier processes left in the folder: unacknowledged results are uploaded again under their
 * own ids, intents without a result become records with the note `unknown`. Nothing may be written by two at once:
 * hold the lock of the data folder.
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
  /** Tracked from the first turn with `audit: sync` on. */
  readonly #sequence: Sequence
  readonly #open = new OpenIntents()
  readonly #rows = new OpenRows()
  readonly #segments: Segments
  /** Records of requests whose process died, until they are on disk as results. */
  #recovery: RecoveredRecords | null
  #isClosed = false
  /** Lines of this turn of the event loop, written together at its end: one system call for all requests in it. */
  readonly #lines = new LineBuffer()
  #isScheduled = false

  constructor(deps: JournalDeps) {
    mkdirSync(deps.dir, { recursive: true, mode: 0o700 })
    this.processId = deps.processId
    this.dir = deps.dir
    this.#deps = deps
    this.#sequence = new Sequence(deps.processId)
    const files = deps.files ?? SYSTEM_FILES
    this.#size = journalSize(deps.maxBytes)
    const recovery = recoverSegments(deps.dir)
    this.#backlog = createBacklog(recovery.segments, files)
    this.#results = new PendingResults({
      ...{ backlog: this.#backlog, lost: this.#lost, open: this.#open, sequence: this.#sequence },
    })
    this.#segments = new Segments({
      ...{ dir: deps.dir, processId: deps.processId, log: deps.log, files, backlog: this.#backlog },
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
    this.#recovery = recovery
    const { tornLines } = recovery
    if (tornLines > 0) deps.log.warn({ tornLines }, 'journal lines that were cut off are skipped')
    this.#adopt()
  }

  get isWritable(): boolean {
    return this.#isUsable && this.bytes + this.#lines.bytes < this.#size.intentBytes
  }

  get state(): JournalState {
    if (!this.#isUsable) return 'unwritable'
    return this.isWritable ? 'ok' : 'full'
  }

  /** Why nothing is forwarded while it is not writable, and what to change. */
  get problem(): string {
    return unavailableText(this.dir, this.#outage.reason)
  }

  /** Results that the control plane has not acknowledged. */
  get pending(): number {
    return this.#backlog.total + this.#results.size
  }

  get bytes(): number {
    return this.#backlog.closedBytes + this.#segments.bytes
  }

  /** Records lost since the start: never written, or never taken. */
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
    this.#schedule()
  }

  grow(row: GrowingRow): void {
    this.#rows.change(row)
    this.#schedule()
  }

  intent(record: TrafficRecord): OpenIntent {
    if (!this.isWritable) throw this.#unavailable()
    const json = recordJson(record)
    const open = this.#open.add(json)
    this.#sequence.written(record.seq)
    this.#buffer('intent', json)
    return open
  }

  result(record: TrafficRecord, json: Buffer, intent?: OpenIntent): void {
    this.#rows.close(record.id)
    this.#results.add(record, json, intent)
    this.#buffer('result', json)
  }

  /** Writes what waits for the end of this turn. */
  flush(): void {
    this.#isScheduled = false
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

  /** What to upload next, oldest first. Empty when there is nothing. Rejects when a closed segment cannot be read. */
  async nextBatch(max: number): Promise<JournalBatch> {
    if (this.#isUsable) for (const json of this.#results.retry()) this.#lines.add('result', json)
    this.flush()
    const batch = { records: await this.#backlog.next(max), lost: this.#lost.list(LIMITS.lostRangesMax) }
    // A record that the control plane has must not look lost after a power loss.
    if (this.#sequence.isTracked && !this.#commits.isFlushed && this.#isUsable) await this.#commit(null)
    return batch
  }

  /** The control plane has these. A segment is deleted once all of its results are acknowledged. */
  acknowledge(ids: Iterable<string>, ranges: readonly LostRange[]): void {
    this.#backlog.remove(ids)
    this.#lost.reported(ranges)
    const isIdle = this.#backlog.active === 0 && this.#results.size === 0
    if (isIdle && this.#segments.bytes > TIDY_BYTES) this.#rotate()
  }

  /** The control plane never takes these. Ranges were counted when they were lost. */
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
    // Whatever still comes is lost here; its intent, if it had one, becomes `unknown` at the next start.
    this.#isClosed = true
  }

  /**
   * Unknown results and missing numbers reach the disk before the segments that show them may be deleted. When the disk
   * refuses, nothing is given up: it is tried again once it can be written.
   */
  #adopt(): void {
    if (this.#recovery === null) return
    const { unknown, lost } = this.#recovery
    const { entries, lines } = recoveredLines(this.#recovery)
    if (!this.#outage.attempt('write', () => this.#segments.append(lines))) return
    if (!this.#outage.attempt(lines.length === 0 ? 'write' : 'sync', () => this.#segments.sync())) return
    for (const { id, json } of entries) this.#backlog.add(id, Buffer.from(json))
    this.#lost.recovered(lost)
    this.#recovery = null
    this.#backlog.allowTrimming()
    logRecovered(this.#deps.log, { unknown, lost })
  }

  #buffer(phase: 'intent' | 'result', json: string | Buffer): void {
    this.#lines.add(phase, json)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.flush())
  }

  /** Writes what is buffered in one system call and settles the results in it. Never throws. */
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

  /** Intents count as written once they are on the disk; without intents it is for the reserved numbers. */
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
    for (const seq of this.#open.reject(intents, this.#unavailable())) this.#sequence.unwritten(seq)
  }

  #unavailable(): ChaperoneError {
    return journalUnavailable(this.dir, this.#outage.reason)
  }

  #rotate(): void {
    if (this.#isUsable)
      this.#outage.attempt('write', () => this.#segments.rotate({ isDurable: this.#sequence.isTracked }))
  }

  /** The first lines of a new segment. */
  #carried(): string {
    const lost = this.#lost.list(Number.POSITIVE_INFINITY).map(lostLine).join('')
    return this.#sequence.begin() + this.#open.carried() + this.#rows.carried() + lost
  }

  async #retry(isSuspect: boolean): Promise<void> {
    this.flush()
    if (!isSuspect) this.#segments.reopen()
    else if (this.#commits.isInFlight) throw new Error('the disk has not confirmed the last flush yet')
    else await this.#segments.renew()
  }

  /** The last lines did not reach the journal: tallies and reservations are written anew. */
  #invalidate(): void {
    this.#rows.invalidate()
    this.#sequence.invalidate()
  }

  #resume(): void {
    this.#invalidate()
    this.#deps.log.info({ dir: this.dir, lost: this.lost }, 'journal can be written again')
    this.#adopt()
  }
}
