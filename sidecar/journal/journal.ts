import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ChaperoneError } from '../../core/errors.ts'
import type { TrafficRecord } from '../../core/record.ts'
import { LIMITS } from '../../core/wire/limits.ts'
import type { GrowingRow, JournalPort, OpenIntent } from '../pipeline/ports.ts'
import { recordJson } from '../pipeline/record-json.ts'
import { Roster, type Seat } from '../roster.ts'
import { type Backlog, createBacklog } from './backlog.ts'
import type { JournalBatch, JournalDeps, JournalState } from './journal-deps.ts'
import { line } from './line.ts'
import { Lines } from './lines.ts'
import { createLostRanges, type LostRange, type LostRanges } from './lost.ts'
import { OpenRows } from './open-rows.ts'
import { recoverSegments } from './recover.ts'
import { openSegment, type SegmentFile } from './segment.ts'

const SEGMENT_BYTES = 4 * 1024 * 1024
const RESERVE_BYTES = 8 * 1024 * 1024
/** A segment in use is closed early once everything in it is acknowledged and it has grown this large. */
const TIDY_BYTES = 2 * 1024 * 1024

/** The intents of one turn of the event loop: one write and one answer for all of them. */
type Intents = { readonly seats: Seat<string>[]; readonly written: PromiseWithResolvers<undefined> }

type Waiting = {
  readonly id: string
  readonly json: Buffer
  readonly seq: number
  readonly processId: string
}

/**
 * Append-only segments `DIR/<processId>-<n>.jsonl`: an intent before the first byte goes upstream, the result after.
 * Opening takes over what earlier processes left in the folder: unacknowledged results are uploaded again under their
 * own ids, intents without a result become records with the note `unknown`. Nothing may be written by two at once:
 * hold the lock of the data folder.
 */
export class Journal implements JournalPort {
  readonly processId: string
  readonly #deps: JournalDeps
  readonly #backlog: Backlog
  readonly #lost: LostRanges = createLostRanges()
  readonly #segmentBytes: number
  readonly #intentLimit: number
  /** Records of intents without a result: carried into the next segment, so that old ones can go. */
  readonly #open = new Roster<string>()
  readonly #rows = new OpenRows()
  /** Sequence numbers of dropped intents, given to the next records. */
  readonly #freeSeqs: number[] = []
  #segment: SegmentFile
  #segmentNumber = 1
  #seq = 0
  /** Records of requests whose process died, until they are on disk as results. */
  #unadopted: readonly TrafficRecord[] | null
  #isBroken = false
  #probe: NodeJS.Timeout | null = null
  /** Lines of this turn of the event loop, written together at its end: one system call for all requests in it. */
  readonly #lines = new Lines()
  #waiting: Waiting[] = []
  #intents: Intents | null = null
  #isScheduled = false

  constructor(deps: JournalDeps) {
    mkdirSync(deps.dir, { recursive: true, mode: 0o700 })
    this.processId = deps.processId
    this.#deps = deps
    this.#segmentBytes = Math.min(SEGMENT_BYTES, Math.max(4096, Math.floor(deps.maxBytes / 8)))
    this.#intentLimit = deps.maxBytes - Math.min(RESERVE_BYTES, Math.floor(deps.maxBytes / 8))
    const recovery = recoverSegments(deps.dir)
    this.#backlog = createBacklog(recovery.segments)
    this.#segment = openSegment(this.#path(1))
    const { unknown, tornLines } = recovery
    this.#unadopted = unknown
    if (tornLines > 0) deps.log.warn({ tornLines }, 'journal lines that were cut off are skipped')
    this.#adopt()
  }

  get isWritable(): boolean {
    return !this.#isBroken && this.bytes + this.#lines.bytes < this.#intentLimit
  }

  get state(): JournalState {
    if (this.#isBroken) return 'unwritable'
    return this.isWritable ? 'ok' : 'full'
  }

  /** Results that the control plane has not acknowledged. */
  get pending(): number {
    return this.#backlog.total + this.#waiting.length
  }

  get bytes(): number {
    return this.#backlog.closedBytes + this.#segment.bytes
  }

  /** Records lost since the start: never written, or never taken. */
  get lost(): number {
    return this.#lost.total
  }

  nextSeq(): number {
    return this.#freeSeqs.pop() ?? this.#seq++
  }

  drop({ id, seq }: Pick<TrafficRecord, 'id' | 'seq'>, intent: OpenIntent): void {
    this.#open.remove(intent.seat)
    this.#freeSeqs.push(seq)
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
    const seat = this.#open.add(json)
    this.#intents ??= { seats: [], written: Promise.withResolvers() }
    this.#intents.seats.push(seat)
    this.#buffer('intent', json)
    return { seat, written: this.#intents.written.promise }
  }

  result(record: TrafficRecord, json: Buffer, intent?: OpenIntent): void {
    if (intent !== undefined) this.#open.remove(intent.seat)
    this.#rows.close(record.id)
    this.#waiting.push({ id: record.id, json, seq: record.seq, processId: record.process_id })
    this.#buffer('result', json)
  }

  /** Writes what waits for the end of this turn. */
  flush(): void {
    this.#isScheduled = false
    this.#lines.addText(this.#rows.takeLines())
    if (this.#lines.bytes > 0) this.#write()
    if (this.#segment.bytes >= this.#segmentBytes && !this.#isBroken) this.#rotate()
  }

  /** What to upload next, oldest first. Empty when there is nothing. Rejects when a closed segment cannot be read. */
  async nextBatch(max: number): Promise<JournalBatch> {
    this.flush()
    return { records: await this.#backlog.next(max), lost: this.#lost.list(LIMITS.lostRangesMax) }
  }

  /** The control plane has these. A segment is deleted once all of its results are acknowledged. */
  acknowledge(ids: Iterable<string>, ranges: readonly LostRange[]): void {
    this.#backlog.remove(ids)
    this.#lost.reported(ranges)
    const isIdle = this.#backlog.active === 0 && this.#waiting.length === 0
    if (isIdle && this.#segment.bytes > TIDY_BYTES && !this.#isBroken) this.#rotate()
  }

  /** The control plane never takes these. Ranges were counted when they were lost. */
  abandon(ids: readonly string[], ranges: readonly LostRange[]): void {
    this.#lost.count(ids.length)
    this.acknowledge(ids, ranges)
  }

  close(): void {
    this.flush()
    if (this.#probe !== null) clearInterval(this.#probe)
    const isEmpty = this.#backlog.active === 0 && this.#open.size + this.#rows.size === 0 && !this.#isBroken
    this.#segment.close()
    // Whatever still comes is lost here; its intent, if it had one, becomes `unknown` at the next start.
    this.#isBroken = true
    if (isEmpty) rmSync(this.#segment.path, { force: true })
  }

  #path(n: number): string {
    return join(this.#deps.dir, `${this.processId}-${n}.jsonl`)
  }

  /**
   * Unknown results reach the disk before the segments that their intents came from may be deleted. When the disk
   * refuses, nothing is given up: it is tried again once it can be written.
   */
  #adopt(): void {
    const unknown = this.#unadopted
    if (unknown === null) return
    const entries = unknown.map((record) => ({ id: record.id, json: recordJson(record) }))
    const lines = Buffer.from(entries.map(({ json }) => line('result', json)).join(''))
    if (!this.#attempt(() => this.#segment.append(lines)) || !this.#attempt(() => this.#segment.sync()))
      return
    for (const { id, json } of entries) this.#backlog.add(id, Buffer.from(json))
    this.#unadopted = null
    this.#backlog.allowTrimming()
    if (unknown.length > 0)
      this.#deps.log.warn({ unknown: unknown.length }, 'requests without a known outcome')
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

  /** Writes what is buffered in one system call and tells everybody who waits for it. Never throws. */
  #write(): void {
    const lines = this.#lines.take()
    const fits = !this.#isBroken && this.bytes + lines.length <= this.#deps.maxBytes
    const isWritten = fits && this.#attempt(() => this.#segment.append(lines))
    if (!isWritten) this.#rows.invalidate()
    this.#tellResults(isWritten)
    this.#tellIntents(isWritten)
  }

  #tellResults(isWritten: boolean): void {
    const entries = this.#waiting
    this.#waiting = []
    for (const entry of entries) {
      if (isWritten) this.#backlog.add(entry.id, entry.json)
      else this.#lost.add(entry.processId, entry.seq)
    }
    if (this.#backlog.active >= LIMITS.recordBatchMax) this.#deps.onBatchReady?.()
  }

  #tellIntents(isWritten: boolean): void {
    const intents = this.#intents
    this.#intents = null
    if (intents === null) return
    if (isWritten) {
      intents.written.resolve(undefined)
      return
    }
    for (const seat of intents.seats) this.#open.remove(seat)
    intents.written.reject(this.#unavailable())
  }

  #unavailable(): ChaperoneError {
    return new ChaperoneError('journal_unavailable', {
      detail: `The journal in ${this.#deps.dir} is full or cannot be written, and nothing is forwarded without a record. Free disk space, or bring the control plane back so that it can take the records.`,
      retryAfterS: 5,
    })
  }

  #attempt(work: () => void): boolean {
    try {
      work()
      return true
    } catch (error) {
      this.#broke(error)
      return false
    }
  }

  /** A new segment begins with the intents that are still open; the old one then matters for its results only. */
  #rotate(): void {
    const old = this.#segment
    try {
      const next = openSegment(this.#path(this.#segmentNumber + 1))
      const carried = this.#open.all().map((json) => line('intent', json))
      next.append(Buffer.from(carried.join('') + this.#rows.carried()))
      this.#segment = next
      this.#segmentNumber++
    } catch (error) {
      this.#broke(error)
      return
    }
    old.retire((error) => this.#deps.log.warn({ err: error, path: old.path }, 'journal segment not synced'))
    this.#backlog.rotate({ path: old.path, bytes: old.bytes })
  }

  #broke(error: unknown): void {
    const { dir, log, probeMs = 1_000 } = this.#deps
    if (!this.#isBroken)
      log.warn({ err: error, dir }, 'journal cannot be written: forwarding stops until it can')
    this.#isBroken = true
    this.#probe ??= setInterval(() => this.#retry(), probeMs).unref()
  }

  #retry(): void {
    const { dir, log } = this.#deps
    try {
      this.#segment.reopen()
    } catch (error) {
      log.warn({ err: error, dir }, 'journal still cannot be written')
      return
    }
    if (this.#probe !== null) clearInterval(this.#probe)
    this.#probe = null
    this.#isBroken = false
    log.info({ dir, lost: this.lost }, 'journal can be written again')
    this.#adopt()
  }
}
