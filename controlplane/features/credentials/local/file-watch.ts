import { stat } from 'node:fs/promises'

/** Milliseconds between two looks at the files. File systems of volumes send no notifications. */
const POLL_MS = 1_000

/** Polls the files of Connectors for changes. */
export type FileWatch = Disposable & {
  /** Replaces the watched files, by the id of the Connector, and looks at new ones at once. */
  follow(files: ReadonlyMap<string, string>): void
  /** Reports whether the file of the Connector was looked at. A read after that misses no change. */
  isLookedAt(connectorId: string): boolean
}

type Watched = { readonly path: string; signature: string | null; isBusy: boolean }

/**
 * @param onChange Called with the id of a Connector after the first look at its file, and whenever the file was written,
 *   replaced, created or deleted.
 */
export function createFileWatch(onChange: (connectorId: string) => void, pollMs = POLL_MS): FileWatch {
  let watched = new Map<string, Watched>()

  /** A volume that does not answer delays no other file. */
  async function look(id: string, file: Watched): Promise<void> {
    if (file.isBusy) return
    file.isBusy = true
    const signature = await signatureOf(file.path)
    file.isBusy = false
    // The files may have been replaced meanwhile.
    if (watched.get(id) !== file || signature === file.signature) return
    file.signature = signature
    onChange(id)
  }

  const timer = setInterval(() => {
    for (const [id, file] of watched) void look(id, file)
  }, pollMs)
  return {
    follow(files) {
      const before = watched
      watched = new Map()
      for (const [id, path] of files) {
        const known = before.get(id)
        const file = known?.path === path ? known : { path, signature: null, isBusy: false }
        watched.set(id, file)
        if (file !== known) void look(id, file)
      }
    },
    isLookedAt: (id) => (watched.get(id)?.signature ?? null) !== null,
    [Symbol.dispose]() {
      clearInterval(timer)
      watched = new Map()
    },
  }
}

/** Returns a text that changes with the file behind the path, also when a link in the path leads elsewhere. */
async function signatureOf(path: string): Promise<string> {
  try {
    const { dev, ino, mtimeMs, ctimeMs, size } = await stat(path)
    return [dev, ino, mtimeMs, ctimeMs, size].join(' ')
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code)
  }
}
