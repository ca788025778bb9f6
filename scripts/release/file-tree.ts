import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { createGzip } from 'node:zlib'
import { extract, type Header, pack } from 'tar-stream'

/** One entry of a tar archive. Every entry belongs to root. */
export type TreeEntry =
  | { readonly type: 'directory'; readonly mode: number }
  | { readonly type: 'symlink'; readonly target: string }
  /** `capabilities`: content of the extended attribute `security.capability` of the file. */
  | {
      readonly type: 'file'
      readonly mode: number
      readonly content: Uint8Array
      readonly capabilities?: string
    }

/** Entries by path, relative to the root and without a slash at the end. */
export type FileTree = Map<string, TreeEntry>

/** Returns a file with mode 0644, or with the given mode. */
export function textFile(content: string, mode = 0o644): TreeEntry {
  return { type: 'file', mode, content: Buffer.from(content) }
}

/** Adds the files of a folder under `prefix`, readable by every user. Symbolic links are followed. */
export function addFolder(tree: FileTree, folder: string, prefix: string): void {
  tree.set(prefix, { type: 'directory', mode: 0o755 })
  for (const name of readdirSync(folder).sort()) {
    const [path, at] = [join(folder, name), `${prefix}/${name}`]
    const facts = statSync(path)
    if (facts.isDirectory()) addFolder(tree, path, at)
    else tree.set(at, { type: 'file', mode: facts.mode & 0o100 ? 0o755 : 0o644, content: readFileSync(path) })
  }
}

/**
 * Adds the entries of a tar archive. `place` returns the path in the tree for a path in the archive, or null to omit
 * the entry. A hard link becomes a copy of its file. Throws for devices and pipes.
 */
export async function addArchive(
  tree: FileTree,
  archive: Uint8Array,
  place: (path: string) => string | null,
): Promise<void> {
  const entries = extract()
  Readable.from([archive]).pipe(entries)
  for await (const entry of entries) {
    const content = await buffer(entry)
    const at = place(pathOf(entry.header.name))
    if (at !== null && at !== '') tree.set(at, entryOf(tree, entry.header, content, place))
  }
}

function entryOf(
  tree: FileTree,
  { name, type, mode, linkname }: Header,
  content: Buffer,
  place: (path: string) => string | null,
): TreeEntry {
  if (type === 'directory') return { type, mode: mode ?? 0o755 }
  if (type === 'symlink') return { type, target: linkname ?? '' }
  if (type === 'file') return { type, mode: mode ?? 0o644, content }
  const linked = type === 'link' ? tree.get(place(pathOf(linkname ?? '')) ?? '') : undefined
  if (linked === undefined)
    throw new Error(`${name} in the archive is a ${type}; only files and links are known`)
  return linked
}

function pathOf(name: string): string {
  return name.replace(/^\.?\//, '').replace(/\/$/, '')
}

/** Returns the tree as a tar archive. The same tree and time give the same bytes. `timeS`: Unix time of every entry. */
export async function packTree(tree: FileTree, timeS: number): Promise<Buffer> {
  const archive = pack()
  const bytes = buffer(archive)
  const facts = { uid: 0, gid: 0, uname: 'root', gname: 'root', mtime: new Date(timeS * 1000) }
  for (const [path, entry] of withParents(tree)) {
    const common = { ...facts, name: path, type: entry.type }
    if (entry.type === 'file') {
      const { mode, capabilities } = entry
      const pax = capabilities && { pax: { 'SCHILY.xattr.security.capability': capabilities } }
      archive.entry({ ...common, mode, ...pax }, Buffer.from(entry.content))
    } else if (entry.type === 'symlink') archive.entry({ ...common, mode: 0o777, linkname: entry.target })
    else archive.entry({ ...common, mode: entry.mode })
  }
  archive.finalize()
  return bytes
}

/** Compresses with fixed settings, and without a time in the header. */
export function gzip(bytes: Buffer): Promise<Buffer> {
  return buffer(Readable.from([bytes]).pipe(createGzip()))
}

/** Returns all entries, sorted by path. Adds the parent directories that the tree does not contain. */
function withParents(tree: FileTree): ReadonlyArray<readonly [path: string, entry: TreeEntry]> {
  const all = new Map(tree)
  for (const path of tree.keys()) {
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const parent = path.slice(0, at)
      if (!all.has(parent)) all.set(parent, { type: 'directory', mode: 0o755 })
    }
  }
  return [...all].sort(([a], [b]) => (a < b ? -1 : 1))
}
