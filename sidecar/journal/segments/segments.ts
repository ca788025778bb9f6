import { join } from 'node:path'
import type { Log } from '../../process/log.ts'
import type { Backlog } from '../backlog.ts'
import { line } from '../line.ts'
import type { JournalFiles } from './files.ts'
import { openSegment, type SegmentFile } from './segment.ts'

export type SegmentsDeps = {
  readonly dir: string
  readonly processId: string
  readonly files: JournalFiles
  readonly backlog: Backlog
  /** The first lines of a new segment; with them older segments are not needed. */
  readonly carried: () => string
  /** A new segment is in use. */
  readonly onBegun: () => void
  readonly onUnsynced: (error: unknown) => void
  readonly log: Pick<Log, 'warn'>
}

/** The segment in use, and how the next one takes its place. Methods throw the system's own error. */
export class Segments {
  readonly #deps: SegmentsDeps
  #number = 1
  #current: SegmentFile
  /** The segment in use, until the lines that were carried into it are on the disk. */
  #carrying: SegmentFile | null = null
  /** Earlier segments that are being flushed; failures are logged. */
  readonly #retiring = new Set<Promise<void>>()
  #isClosed = false

  constructor(deps: SegmentsDeps) {
    this.#deps = deps
    this.#current = openSegment(this.#path(1), deps.files)
  }

  get bytes(): number {
    return this.#current.bytes
  }

  append(lines: Buffer): void {
    this.#current.append(lines)
  }

  /** To the disk. Blocks. */
  sync(): void {
    this.#current.sync()
  }

  async datasync(): Promise<void> {
    await Promise.all([this.#current.datasync(), ...this.#retiring])
  }

  reopen(): void {
    this.#current.reopen()
  }

  /**
   * Starts a segment with the lines that are still open; the old one then matters for its results only. `isDurable`: these
   * lines reach the disk before the segments that they came from may be deleted.
   */
  rotate({ isDurable }: { readonly isDurable: boolean }): void {
    if (this.#carrying !== null) return
    const { path, bytes } = this.#use(this.#begin([]))
    this.#deps.backlog.rotate({ path, bytes, isHeld: isDurable })
    if (isDurable) this.#carry()
  }

  /** Replaces a segment of which a flush failed: its lines may never reach the disk. */
  async renew(): Promise<void> {
    const { backlog } = this.#deps
    const next = this.#begin(backlog.list())
    try {
      await next.datasync()
    } catch (error) {
      this.#discard(next)
      throw error
    }
    if (this.#isClosed) return next.close()
    const { path, bytes } = this.#use(next)
    backlog.replace({ path, bytes })
    backlog.release()
    this.#carrying = null
  }

  /** `isEmpty`: nothing in the segment is needed any more. */
  close({ isEmpty }: { readonly isEmpty: boolean }): void {
    this.#isClosed = true
    this.#current.close()
    if (isEmpty) this.#deps.files.rmSync(this.#current.path)
  }

  #path(n: number): string {
    return join(this.#deps.dir, `${this.#deps.processId}-${n}.jsonl`)
  }

  #begin(results: Iterable<Buffer>): SegmentFile {
    const { carried, files } = this.#deps
    const next = openSegment(this.#path(this.#number + 1), files)
    try {
      const again = Array.from(results, (json) => line('result', json.toString()))
      next.append(Buffer.from(carried() + again.join('')))
      return next
    } catch (error) {
      this.#discard(next)
      throw error
    }
  }

  #discard(segment: SegmentFile): void {
    segment.close()
    this.#deps.files.rmSync(segment.path)
  }

  /** Returns the segment that was in use. */
  #use(next: SegmentFile): SegmentFile {
    const { log, onBegun } = this.#deps
    const old = this.#current
    this.#current = next
    this.#number++
    onBegun()
    const retired = old
      .retire()
      .catch((error: unknown) => log.warn({ err: error, path: old.path }, 'journal segment not synced'))
      .finally(() => this.#retiring.delete(retired))
    this.#retiring.add(retired)
    return old
  }

  #carry(): void {
    const { backlog, onUnsynced } = this.#deps
    const segment = this.#current
    this.#carrying = segment
    // `renew` may have replaced the segment before its flush ends: the later one has a flush of its own.
    const whileInUse = (done: () => void) => (this.#carrying === segment ? done() : undefined)
    segment.datasync().then(
      () =>
        whileInUse(() => {
          this.#carrying = null
          backlog.release()
        }),
      (error: unknown) => whileInUse(() => onUnsynced(error)),
    )
  }
}
