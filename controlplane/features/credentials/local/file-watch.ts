import { stat } from 'node:fs/promises'

/**
 * Milliseconds between two polls of the files. Volumes are polled because their file systems may send no notifications.
 */
const POLL_MS = 1_000

/** Polls the files of Connectors for changes. */
export type FileWatch = Disposable & {
  /** Replaces the watched files, given by the id of the Connector. Polls new files at once. */
  follow(files: ReadonlyMap<string, string>): void
  /**
   * Reports whether the file of the Connector was polled at least once. After the first poll, `onChange` reports
   * every later change of the file.
   */
  isPolled(connectorId: string): boolean
}

type Watched = { readonly path: string; signature: string | null; isBusy: boolean }

/**
 * @param onChange Called with the id of a Connector after the first poll of its file, and whenever the file was
 *   written, replaced, created or deleted.
 */
export function createFileWatch(onChange: (connectorId: string) => void, pollMs = POLL_MS): FileWatch {
  let watched = new Map<string, Watched>()

  /**
   * Polls one file. Polls of different files do not wait for each other, so a volume that does not answer delays no
   * other file.
   */
  async function poll(id: string, file: Watched): Promise<void> {
    if (file.isBusy) return
    file.isBusy = true
    const signature = await signatureOf(file.path)
    file.isBusy = false
    // `follow` may have replaced the watched files during the poll.
    if (watched.get(id) !== file || signature === file.signature) return
    file.signature = signature
    onChange(id)
  }

  const timer = setInterval(() => {
    for (const [id, file] of watched) void poll(id, file)
  }, pollMs)
  return {
    follow(files) {
      const before = watched
      watched = new Map()
      for (const [id, path] of files) {
        const known = before.get(id)
        const file = known?.path === path ? known : { path, signature: null, isBusy: false }
        watched.set(id, file)
        if (file !== known) void poll(id, file)
      }
    },
    isPolled: (id) => (watched.get(id)?.signature ?? null) !== null,
    [Symbol.dispose]() {
      clearInterval(timer)
      watched = new Map()
    },
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
