import type { Socket } from 'node:net'

/** Total size in bytes up to which queued parts are copied into one write. Larger parts are written without a copy. */
const JOIN_BYTES = 16 * 1024

/**
 * Collects the writes of one connection. All parts of one tick become one write, so that a small reply with head and
 * body is one TLS record and one system call.
 */
export class Output {
  readonly socket: Socket
  /** Parts that are not written yet. Strings are encoded as latin-1. */
  #parts: (string | Buffer)[] = []
  #bytes = 0
  #isScheduled = false
  #isHeld = false

  constructor(socket: Socket) {
    this.socket = socket
  }

  /** Queues one part. Flushes immediately when more than 16 KiB are queued. */
  add(part: string | Buffer): void {
    this.#parts.push(part)
    this.#bytes += part.length
    if (this.#bytes > JOIN_BYTES) this.flush()
    else if (!this.#isScheduled) this.#schedule()
  }

  /** True while the socket's buffer is above its high-water mark. */
  get isFull(): boolean {
    return this.socket.writableNeedDrain
  }

  /** Keeps all parts until `release`. */
  hold(): void {
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
    this.flush()
  }

  flush(): void {
    if (this.#isHeld) return
    const parts = this.#parts
    const bytes = this.#bytes
    if (bytes === 0) return
    this.#parts = []
    this.#bytes = 0
    if (!this.socket.writable) return
    const [first] = parts
    if (parts.length === 1 && first !== undefined) this.#write(first)
    else if (bytes <= JOIN_BYTES) this.socket.write(joined(parts, bytes))
    else this.#writeAll(parts)
  }

  #schedule(): void {
    this.#isScheduled = true
    process.nextTick(flushScheduled, this)
  }

  /** Flushes at the end of the tick. Only the callback that `add` schedules calls this method. */
  scheduled(): void {
    this.#isScheduled = false
    this.flush()
  }

  #writeAll(parts: readonly (string | Buffer)[]): void {
    this.socket.cork()
    for (const part of parts) this.#write(part)
    this.socket.uncork()
  }

  #write(part: string | Buffer): void {
    if (typeof part === 'string') this.socket.write(part, 'latin1')
    else this.socket.write(part)
  }
}

function flushScheduled(output: Output): void {
  output.scheduled()
}

function joined(parts: readonly (string | Buffer)[], bytes: number): Buffer {
  const whole = Buffer.allocUnsafe(bytes)
  let at = 0
  for (const part of parts) {
    if (typeof part === 'string') whole.write(part, at, 'latin1')
    else whole.set(part, at)
    at += part.length
  }
  return whole
}
