import { type FSWatcher, watch } from 'node:fs'
import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { exposureOf, type OpenedFolder } from './file-exposure.ts'
import type { ManifestFile } from './manifest-set.ts'

const DEBOUNCE_MS = 100
const POLL_MS = 2_000

/**
 * Reads every `*.yaml` and `*.yml` directly in the folder, except names with a dot at the beginning. Rejects when the
 * folder cannot be listed, because an empty result would remove all objects. A file that was deleted between list and
 * read is not in the result.
 *
 * @param opened The folder as it was at the start, for the exposure of its files.
 */
export async function readFolder(dir: string, opened: OpenedFolder): Promise<ManifestFile[]> {
  const read = (file: string) => readManifest(dir, file, opened)
  const files = await Promise.all((await manifestNames(dir)).map(read))
  return files.filter((file) => file !== null)
}

/**
 * Calls `onChange` after a change in the folder, debounced, because an editor saves in several steps. The folder is
 * also polled every 2 s, because file system notifications can be lost and some file systems have none.
 */
export function watchFolder(dir: string, onChange: () => void): Disposable {
  let debounce: NodeJS.Timeout | undefined
  let lastSignature: string | undefined
  let watchedInode: number | null = null
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
  const poll = async () => {
    const now = await signature(dir)
    if (lastSignature !== undefined && lastSignature !== now) changed()
    lastSignature = now
    const inode = await inodeOf(dir)
    if (inode !== watchedInode) {
      // The folder was replaced, so the open watcher still watches the previous inode.
      watcher?.close()
      watcher = null
      watchedInode = inode
    }
    listen()
  }
  listen()
  void poll()
  const timer = setInterval(() => void poll(), POLL_MS)
  return {
    [Symbol.dispose]() {
      clearInterval(timer)
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
    // The folder is missing or inotify is exhausted. The poll detects changes in the meantime, and opens the watcher
    // later.
    return null
  }
}

/**
 * Returns a text that changes when a manifest is added, removed, replaced or written, and when the folder becomes
 * unreadable.
 */
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

async function readManifest(dir: string, file: string, opened: OpenedFolder): Promise<ManifestFile | null> {
  try {
    await using handle = await open(join(dir, file))
    const text = await handle.readFile('utf8')
    const exposure = await exposureOf(opened, file, await handle.stat())
    return { file, text, ...(exposure === null ? {} : { exposure }) }
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? null : { file, text: null, failure: codeOf(error) }
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}
