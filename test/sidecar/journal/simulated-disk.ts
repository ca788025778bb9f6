import { copyFileSync, existsSync, mkdirSync, readdirSync, statSync, truncateSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type JournalFiles, SYSTEM_FILES } from '../../../sidecar/journal/segments/files.ts'

type Done = (error: Error | null) => void

/**
 * Files of which it is known what a power loss would leave: what was flushed, under names whose folder was flushed. What
 * was deleted is gone at once, the worst that a disk may do.
 */
export class SimulatedDisk {
  /** `fdatasync proc_1-1.jsonl`, in order; the end of a flush is a call of its own: `flushed proc_1-1.jsonl`. */
  readonly calls: string[] = []
  /** Flushes that wait for `release`; null answers each at once. */
  held: Array<() => void> | null = null
  /** What the next flushes fail with. */
  failure: Error | null = null
  readonly #paths = new Map<number, string>()
  readonly #flushed = new Map<string, number>()
  readonly #linked = new Set<string>()

  readonly files: JournalFiles = {
    ...SYSTEM_FILES,
    openSync: (path, flags, mode) => {
      const fd = SYSTEM_FILES.openSync(path, flags, mode)
      this.#paths.set(fd, path)
      this.#note('open', fd)
      return fd
    },
    closeSync: (fd) => {
      this.#note('close', fd)
      this.#paths.delete(fd)
      SYSTEM_FILES.closeSync(fd)
    },
    writeSync: (fd, bytes) => {
      this.#note('write', fd)
      return SYSTEM_FILES.writeSync(fd, bytes)
    },
    fsyncSync: (fd) => {
      this.#note('fsync', fd)
      if (this.failure !== null) throw this.failure
      this.#settle(fd)()
    },
    fsync: (fd, done) => this.#flush('fsync', fd, done),
    fdatasync: (fd, done) => this.#flush('fdatasync', fd, done),
    rmSync: (path) => {
      this.calls.push(`rm ${basename(path)}`)
      this.#linked.delete(path)
      this.#flushed.delete(path)
      SYSTEM_FILES.rmSync(path)
    },
  }

  /** Answers the flushes that wait. */
  release(): void {
    for (const answer of this.held?.splice(0) ?? []) answer()
  }

  /** Copies what a power loss would leave to another folder. `extra`: the share of unflushed bytes that survives. */
  losePower(into: string, extra = 0): void {
    mkdirSync(into, { recursive: true })
    for (const path of this.#linked) {
      if (!existsSync(path) || !path.endsWith('.jsonl')) continue
      const flushed = this.#flushed.get(path) ?? 0
      const { size } = statSync(path)
      const copy = join(into, basename(path))
      copyFileSync(path, copy)
      truncateSync(copy, Math.min(size, flushed + Math.floor((size - flushed) * extra)))
    }
  }

  #flush(call: string, fd: number, done: Done): void {
    this.#note(call, fd)
    const { failure } = this
    const settle = this.#settle(fd)
    const answer = (): void => {
      if (failure === null) settle()
      setImmediate(done, failure)
    }
    if (this.held === null) answer()
    else this.held.push(answer)
  }

  /** What is flushed is what was there when the call began. */
  #settle(fd: number): () => void {
    const path = this.#paths.get(fd) ?? '?'
    if (statSync(path).isDirectory()) {
      const entries = readdirSync(path).map((name) => join(path, name))
      return () => {
        for (const entry of entries) if (existsSync(entry)) this.#linked.add(entry)
      }
    }
    const bytes = SYSTEM_FILES.sizeOf(fd)
    return () => {
      this.calls.push(`flushed ${basename(path)}`)
      if (existsSync(path)) this.#flushed.set(path, Math.max(bytes, this.#flushed.get(path) ?? 0))
    }
  }

  #note(call: string, fd: number): void {
    const path = this.#paths.get(fd) ?? '?'
    const isSegment = path.endsWith('.jsonl')
    this.calls.push(`${call} ${isSegment ? basename(path) : `folder ${basename(dirname(join(path, 'x')))}`}`)
  }
}
