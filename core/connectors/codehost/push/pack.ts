/** Inflates one zlib stream at the start of `bytes`; null when it is broken or not all there. */
export type Inflate = (bytes: Uint8Array) => { readonly data: Uint8Array; readonly consumed: number } | null

/** Commit id -> its parents' ids, for every commit of a pack that is stored whole. */
export type Commits = ReadonlyMap<string, readonly string[]>

/** Hashes an object as git does: `commit <length>\0<data>`; hex. */
export type ObjectId = (type: string, data: Uint8Array) => string

const COMMIT = 1
const TREE = 2
const BLOB = 3
const OFS_DELTA = 6
const REF_DELTA = 7
/** Each costs a moment in which nothing else is served. */
const MAX_OBJECTS = 1_000

/**
 * The commits of a pack with their parents, as far as its bytes are here. Commits that are stored as differences to
 * others are left out, and so is what comes behind the first tree or file, because git sends commits first: what is
 * not read proves nothing.
 */
export function readCommits(pack: Uint8Array, inflate: Inflate, idOf: ObjectId, idBytes = 20): Commits {
  const commits = new Map<string, readonly string[]>()
  const view = new DataView(pack.buffer, pack.byteOffset, pack.byteLength)
  if (pack.length < 12 || view.getUint32(0) !== 0x5041434b) return commits
  const count = Math.min(view.getUint32(8), MAX_OBJECTS)
  let at = 12
  for (let i = 0; i < count; i++) {
    const entry = readEntry(pack, at, idBytes)
    if (entry === null || entry.type === TREE || entry.type === BLOB) return commits
    const body = inflate(pack.subarray(entry.dataAt))
    if (body === null) return commits
    if (entry.type === COMMIT) commits.set(idOf('commit', body.data), parentsOf(body.data))
    at = entry.dataAt + body.consumed
  }
  return commits
}

/** True when walking back from `after` over commits of the pack leads to `before`: nothing that was there is lost. */
export function isFastForward(before: string, after: string, commits: Commits): boolean {
  const seen = new Set<string>()
  const open = [after]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (id === before) return true
    if (seen.has(id)) continue
    seen.add(id)
    open.push(...(commits.get(id) ?? []))
  }
  return false
}

type Entry = { readonly type: number; readonly dataAt: number }

/** Type and length in a variable number of bytes, then what a difference refers to. */
function readEntry(pack: Uint8Array, from: number, idBytes: number): Entry | null {
  let at = from
  const type = ((pack[at] ?? 0) >> 4) & 7
  while (((pack[at] ?? 0) & 0x80) !== 0) at += 1
  at += 1
  if (type === OFS_DELTA) {
    while (((pack[at] ?? 0) & 0x80) !== 0) at += 1
    at += 1
  } else if (type === REF_DELTA) at += idBytes
  return at < pack.length ? { type, dataAt: at } : null
}

function parentsOf(commit: Uint8Array): readonly string[] {
  const text = new TextDecoder('latin1').decode(commit)
  const header = text.slice(0, Math.max(0, text.indexOf('\n\n')))
  return [...header.matchAll(/^parent ([0-9a-f]{40,64})$/gm)].map(([, id = '']) => id)
}
