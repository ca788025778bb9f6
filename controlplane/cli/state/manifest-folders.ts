import { type BigIntStats, statSync } from 'node:fs'
import { resolve } from 'node:path'
import * as z from 'zod'
import { realFolderPath } from './folder-ownership.ts'
import { readStateJson, writeStateFile } from './state-home.ts'

const FILE = 'manifest-folders.json'
/** Maximum number of entries. Entries of folders that do not exist are removed first, then the oldest. */
const MAX_ENTRIES = 200

/**
 * Path and identity of a folder. `born` is the creation time in nanoseconds, and `0` if the file system has none. The
 * device number is compared only without this time, because many file systems get another number at a reboot.
 */
const Entry = z.object({ path: z.string(), dev: z.string(), ino: z.string(), born: z.string() })
type Entry = z.infer<typeof Entry>
/** Entries that are only a path are of an earlier version. */
const Stored = z.object({ folders: z.array(z.union([z.string(), Entry])) })

/**
 * Returns the real paths of the existing manifests folders with which installations of this user were started. Captured
 * commands must not write to these folders, because a manifest can name a command that the control plane runs.
 */
export function manifestFolders(env: NodeJS.ProcessEnv): readonly string[] {
  return [...new Set(entriesOf(env).map(pathOf).filter(exists).map(realFolderPath))]
}

/**
 * Adds a manifests folder to the list. Returns false for a folder that is not the one which the list has for this path:
 * a captured command can rename a parent of the folder and create a folder of the same name, which is not masked. The
 * list then keeps the former folder, unless `isTrusted`.
 */
export function recordManifestFolder(
  env: NodeJS.ProcessEnv,
  manifests: string,
  { isTrusted }: { readonly isTrusted: boolean },
): boolean {
  const entries = entriesOf(env)
  // A captured command can also replace a parent of the folder by a link.
  const paths = new Set([resolve(manifests), realFolderPath(manifests)])
  const stat = statSync(manifests, { bigint: true })
  const known = entries.filter((entry) => paths.has(pathOf(entry)))
  if (!isTrusted && known.some((entry) => typeof entry !== 'string' && !isSame(entry, stat))) return false
  const others = entries.filter((entry) => !paths.has(pathOf(entry)))
  const { dev, ino, birthtimeNs } = stat
  const identity = { dev: String(dev), ino: String(ino), born: String(birthtimeNs) }
  const folders = bounded([...others, ...[...paths].map((path) => ({ path, ...identity }))])
  writeStateFile(env, FILE, `${JSON.stringify({ folders })}\n`)
  return true
}

type StoredEntry = Entry | string

function entriesOf(env: NodeJS.ProcessEnv): readonly StoredEntry[] {
  return readStateJson(env, FILE, Stored)?.folders ?? []
}

function pathOf(entry: StoredEntry): string {
  return typeof entry === 'string' ? entry : entry.path
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

function isSame(entry: Entry, { dev, ino, birthtimeNs }: BigIntStats): boolean {
  if (entry.ino !== String(ino)) return false
  const hasTime = entry.born !== '0' && birthtimeNs !== 0n
  return hasTime ? entry.born === String(birthtimeNs) : entry.dev === String(dev)
}

function bounded(entries: readonly StoredEntry[]): readonly StoredEntry[] {
  if (entries.length <= MAX_ENTRIES) return entries
  const { present = [], absent = [] } = Object.groupBy(entries, (entry) =>
    exists(pathOf(entry)) ? 'present' : 'absent',
  )
  return [...absent, ...present].slice(-MAX_ENTRIES)
}
