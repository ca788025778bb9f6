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
  /**
   * Returns the first lines of a new segment: copies of the open intents, open aggregate records and lost ranges of
   * older segments.
   */
  readonly carried: () => string
  /** Called when a new segment has become the active one. */
  readonly onBegun: () => void
  readonly onUnsynced: (error: unknown) => void
  readonly log: Pick<Log, 'warn'>
}

/** The active segment and its rotation. Methods throw the system error of a failed operation. */
export class Segments {
  readonly #deps: SegmentsDeps
  #number = 1
  #current: SegmentFile
  /** The active segment while the lines that were copied into it are not on disk yet; otherwise null. */
  #carrying: SegmentFile | null = null
  /** Flushes in progress of earlier segments. A failed flush is logged. */
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

  /** Flushes the active segment. Blocks the event loop. */
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
   * Starts a segment with the lines of `carried`. Only the results of the old segment are needed afterwards. With
   * `isDurable` the copies must be on disk before the segments that contain the originals may be deleted.
   */
  rotate({ isDurable }: { readonly isDurable: boolean }): void {
    if (this.#carrying !== null) return
    const { path, bytes } = this.#use(this.#begin([]))
    this.#deps.backlog.rotate({ path, bytes, isHeld: isDurable })
    if (isDurable) this.#carry()
  }

  /** Replaces the active segment after a failed flush, because its lines may never reach the disk. */
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

  /** Closes the active segment. `isEmpty` is true when none of its lines is needed; the file is then deleted. */
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

  /** Makes `next` the active segment. Returns the previous one. */
  #use(next: SegmentFile): SegmentFile {
    const { log, onBegun } = this.#deps
    const old = this.#current
    this.#current = next
    this.#number++
    onBegun()
    const retired = old
      .retire()
      .catch((error: unknown) =>
        log.warn({ err: error, path: old.path }, 'journal segment could not be flushed'),
      )
      .finally(() => this.#retiring.delete(retired))
    this.#retiring.add(retired)
    return old
  }

  #carry(): void {
    const { backlog, onUnsynced } = this.#deps
    const segment = this.#current
    this.#carrying = segment
    // The callback has no effect when `renew` replaced the segment during this flush, because the new segment has a
    // flush of its own.
    const ifActive = (done: () => void) => (this.#carrying === segment ? done() : undefined)
    segment.datasync().then(
      () =>
        ifActive(() => {
          this.#carrying = null
          backlog.release()
        }),
      (error: unknown) => ifActive(() => onUnsynced(error)),
    )
  }
}
