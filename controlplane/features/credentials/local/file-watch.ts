import { stat } from 'node:fs/promises'

/**
 * Milliseconds between two polls of the files. Volumes are polled because their file systems may send no notifications.
 */
const POLL_MS = 1_000

type Watched = { readonly path: string; signature: string | null; isBusy: boolean }

/** Polls the files of Connectors for changes until disposed. */
export class FileWatch implements Disposable {
  readonly #onChange: (connectorId: string) => void
  readonly #timer: NodeJS.Timeout
  #watched = new Map<string, Watched>()

  /**
   * @param onChange Called with the id of a Connector after the first poll of its file, and whenever the file was
   *   written, replaced, created or deleted.
   */
  constructor(onChange: (connectorId: string) => void, pollMs = POLL_MS) {
    this.#onChange = onChange
    this.#timer = setInterval(() => {
      for (const [id, file] of this.#watched) void this.#poll(id, file)
    }, pollMs)
  }

  /** Replaces the watched files, given by the id of the Connector. Polls new files at once. */
  follow(files: ReadonlyMap<string, string>): void {
    const before = this.#watched
    this.#watched = new Map()
    for (const [id, path] of files) {
      const known = before.get(id)
      const file = known?.path === path ? known : { path, signature: null, isBusy: false }
      this.#watched.set(id, file)
      if (file !== known) void this.#poll(id, file)
    }
  }

  /**
   * Reports whether the file of the Connector was polled at least once. After the first poll, `onChange` reports
   * every later change of the file.
   */
  isPolled(connectorId: string): boolean {
    return (this.#watched.get(connectorId)?.signature ?? null) !== null
  }

  /**
   * Polls one file. Polls of different files do not wait for each other, so a volume that does not answer delays no
   * other file.
   */
  async #poll(id: string, file: Watched): Promise<void> {
    if (file.isBusy) return
    file.isBusy = true
    const signature = await signatureOf(file.path)
    file.isBusy = false
    // `follow` may have replaced the watched files during the poll.
    if (this.#watched.get(id) !== file || signature === file.signature) return
    file.signature = signature
    this.#onChange(id)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    this.#watched = new Map()
  }
}

/**
 * Returns a text that changes when the file is written or replaced, also when a link in the path leads to another file.
 * For a file that cannot be read, the text is the error code.
 */
async function signatureOf(path: string): Promise<string> {
  try {
    const { dev, ino, mtimeMs, ctimeMs, size } = await stat(path)
    return [dev, ino, mtimeMs, ctimeMs, size].join(' ')
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code)
  }
}
