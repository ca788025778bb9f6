import { type FSWatcher, watch } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { ManifestFile } from './manifest-set.ts'

const DEBOUNCE_MS = 100
const POLL_MS = 2_000

/**
 * Every `*.yaml` and `*.yml` directly in the folder. Rejects when the folder itself cannot be listed: a failed list
 * is never an empty one. A file that vanished between listing and reading is not in the result.
 */
export async function readFolder(dir: string): Promise<ManifestFile[]> {
  const files = await Promise.all((await manifestNames(dir)).map((file) => readManifest(dir, file)))
  return files.filter((file) => file !== null)
}

/**
 * Calls `onChange` soon after anything in the folder changed, once for a burst of changes (an editor saves by
 * writing a new file and renaming it over the old one). Notifications of the file system can be lost, and some
 * file systems have none, so the folder is also looked at every two seconds.
 */
export function watchFolder(dir: string, onChange: () => void): Disposable {
  let debounce: NodeJS.Timeout | undefined
  let seen: string | undefined
  let watched: number | null = null
  let watcher: FSWatcher | null = null
  const changed = () => {
    clearTimeout(debounce)
    debounce = setTimeout(onChange, DEBOUNCE_MS)
  }
  const listen = () => {
    watcher ??= openWatcher(dir, changed, () => {
      watcher = null
    })
  }
  const look = async () => {
    const now = await signature(dir)
    if (seen !== undefined && seen !== now) changed()
    seen = now
    const folder = await inodeOf(dir)
    if (folder !== watched) {
      // Another folder stands under this name now: the old watcher would watch the one that is gone.
      watcher?.close()
      watcher = null
      watched = folder
    }
    listen()
  }
  listen()
  void look()
  const poll = setInterval(() => void look(), POLL_MS)
  return {
    [Symbol.dispose]() {
      clearInterval(poll)
      clearTimeout(debounce)
      watcher?.close()
    },
  }
}

function openWatcher(dir: string, onEvent: () => void, onLost: () => void): FSWatcher | null {
  try {
    const watcher = watch(dir, { persistent: false }, onEvent)
    watcher.on('error', () => {
      watcher.close()
      onLost()
    })
    return watcher
  } catch {
    // No notifications here (the folder is missing, or inotify is exhausted): the poll sees changes and tries again.
    return null
  }
}

/** Changes whenever a manifest was added, removed, replaced or written; says so too when the folder is unreadable. */
async function signature(dir: string): Promise<string> {
  try {
    const parts = (await manifestNames(dir)).map(async (file) => {
      const { mtimeMs, size, ino } = await stat(join(dir, file))
      return `${file} ${mtimeMs} ${size} ${ino}`
    })
    return (await Promise.all(parts)).join('\n')
  } catch (error) {
    return `unreadable: ${codeOf(error)}`
  }
}

async function inodeOf(dir: string): Promise<number | null> {
  const found = await stat(dir).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  })
  return found?.ino ?? null
}

async function manifestNames(dir: string): Promise<string[]> {
  const names = await readdir(dir)
  return names.filter((name) => /^[^.].*\.ya?ml$/.test(name)).sort()
}

async function readManifest(dir: string, file: string): Promise<ManifestFile | null> {
  try {
    return { file, text: await readFile(join(dir, file), 'utf8') }
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? null : { file, text: null, failure: codeOf(error) }
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}
