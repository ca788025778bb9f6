import type { Sliced } from '../../../sliced.ts'
import { parseCommit } from './commit.ts'
import { applyDelta } from './delta.ts'
import { type PackTrees, parseTree, type TreeEntry, taggedId } from './trees.ts'

/**
 * Inflates one zlib stream at the start of `bytes` to exactly `size` bytes. Null if the stream is broken, truncated,
 * or has another size. Inflates no more than `size` bytes.
 */
export type Inflate = (
  bytes: Uint8Array,
  size: number,
) => { readonly data: Uint8Array; readonly consumed: number } | null

/** Returns the object id as git does: the hash of `<type> <length>\0<data>` in hex. */
export type ObjectId = (type: string, data: Uint8Array) => string

/** Commits that were read from the beginning of a pack. */
export type Commits = {
  /** Parents of every readable commit, by commit id. */
  readonly parents: ReadonlyMap<string, readonly string[]>
  /** Reason why a commit cannot prove a fast-forward, by commit id. */
  readonly unreadable: ReadonlyMap<string, string>
  readonly end: PackEnd
  /** Trees of the pack; null if only commits were read. */
  readonly trees: PackTrees | null
}

/** How far a pack is read. `commits`: up to the first tree. `trees`: also the trees that follow the commits. */
export type PackDepth = 'commits' | 'trees'

/**
 * Reason why reading a pack ended. `complete`: all objects to be read were read (see `PackDepth`). `budget`: the pack
 * exceeds `PACK_BUDGET`. `cut`: the bytes end within an object, or the object cannot be inflated. `base`: the next
 * object is a delta on an object that was not read. `malformed`: the pack has a form that git never writes.
 */
export type PackEnd = 'complete' | 'budget' | 'cut' | 'base' | 'malformed'

/**
 * Limits for reading the pack of one push. `ratio`: inflated bytes allowed per byte of the pack, in addition to
 * `objectBytes`; zlib compresses commits at most about tenfold. `sliceBytes`: work between two yields; each object
 * counts `objectCost` in addition to its bytes.
 */
export const PACK_BUDGET = {
  objects: 2_000,
  objectBytes: 64 * 1024,
  bytes: 4 * 1024 * 1024,
  ratio: 64,
  sliceBytes: 64 * 1024,
  objectCost: 1024,
} as const

/** Functions that depend on the runtime (zlib, hashes), passed in by the caller. */
export type PackTools = { readonly inflate: Inflate; readonly objectId: ObjectId }

const COMMIT = 1
const TREE = 2
const BLOB = 3
const TAG = 4
const OFS_DELTA = 6
const REF_DELTA = 7
const HEADER_BYTES = 12
const ID_BYTES = 20

/**
 * Reads the commits of a pack with their parents up to the first tree or blob; git writes commits and tags first. An
 * object's id is computed from its bytes, so the pack cannot forge it. With `depth: 'trees'`, reading continues up to
 * the first blob that is stored whole, which is not inflated. No more than `PACK_BUDGET` is inflated in total. Yields
 * after each `sliceBytes` of work.
 */
export function* readCommits(
  pack: Uint8Array,
  { inflate, objectId }: PackTools,
  depth: PackDepth = 'commits',
): Sliced<Commits> {
  const reading = new Reading(inflate, objectId)
  const count = countOf(pack)
  const cursor = { at: HEADER_BYTES, index: 0, sliceEnd: PACK_BUDGET.sliceBytes }
  const objects = { pack, count, reading, cursor }
  const { parents, unreadable } = reading
  const end = count === null ? 'malformed' : yield* readObjects({ ...objects, count }, 'commits')
  if (depth === 'commits') return { parents, unreadable, end, trees: null }
  const isOver = count === null || (end !== 'complete' && end !== 'base')
  const last = isOver ? end : yield* readObjects({ ...objects, count }, 'trees')
  const isWhole = last === 'complete' && cursor.index === count && reading.unread === 0
  return { parents, unreadable, end, trees: { ...reading.trees, isWhole } }
}

type PackObjects = {
  readonly pack: Uint8Array
  readonly count: number
  readonly reading: Reading
  /** Offset and index of the next object, and the amount of work after which the reader yields. */
  readonly cursor: { at: number; index: number; sliceEnd: number }
}

function* readObjects({ pack, count, reading, cursor }: PackObjects, depth: PackDepth): Sliced<PackEnd> {
  for (; cursor.index < count; cursor.index++) {
    if (cursor.index === PACK_BUDGET.objects || reading.isBeyondRatio(cursor.at)) return 'budget'
    const next = reading.read(pack, cursor.at, depth)
    if (typeof next === 'string') return next
    cursor.at = next
    const done = reading.inflated + cursor.index * PACK_BUDGET.objectCost
    if (done < cursor.sliceEnd) continue
    cursor.sliceEnd = done + PACK_BUDGET.sliceBytes
    yield
  }
  return 'complete'
}

/** Returns the number of objects in a pack; null if the bytes are not a pack. */
function countOf(pack: Uint8Array): number | null {
  if (pack.length < HEADER_BYTES) return null
  const view = new DataView(pack.buffer, pack.byteOffset, pack.byteLength)
  const version = view.getUint32(4)
  return view.getUint32(0) === 0x5041434b && (version === 2 || version === 3) ? view.getUint32(8) : null
}

type PackObject = { readonly type: 'commit' | 'tag' | 'tree'; readonly data: Uint8Array }

type Inflated = { readonly data: Uint8Array; readonly at: number; readonly depth: PackDepth }

class Reading {
  readonly parents = new Map<string, readonly string[]>()
  readonly unreadable = new Map<string, string>()
  readonly #entries = new Map<string, readonly TreeEntry[]>()
  readonly #roots = new Map<string, string>()
  readonly #tagged = new Map<string, string>()
  /** Number of commits that cannot be parsed, and of deltas on objects that were not read (their type is unknown). */
  unread = 0
  readonly #inflate: Inflate
  readonly #idOf: ObjectId
  /** Objects that were read, by the keys that deltas use: the offset in the pack, and the object id. */
  readonly #objects = new Map<number | string, PackObject>()
  #left: number = PACK_BUDGET.bytes

  constructor(inflate: Inflate, idOf: ObjectId) {
    this.#inflate = inflate
    this.#idOf = idOf
  }

  /** Number of bytes inflated so far, including results of deltas. */
  get inflated(): number {
    return PACK_BUDGET.bytes - this.#left
  }

  /**
   * True if the inflated bytes exceed the limit for a pack of `packBytes` bytes (`ratio` and `objectBytes` of
   * `PACK_BUDGET`).
   */
  isBeyondRatio(packBytes: number): boolean {
    return this.inflated > PACK_BUDGET.objectBytes + packBytes * PACK_BUDGET.ratio
  }

  get trees(): Omit<PackTrees, 'isWhole'> {
    return { entries: this.#entries, roots: this.#roots, tagged: this.#tagged, unreadable: this.unreadable }
  }

  /** Reads the object at `from`; returns the next offset, or the reason why reading ends. */
  read(pack: Uint8Array, from: number, depth: PackDepth): number | PackEnd {
    const entry = readEntry(pack, from)
    if (typeof entry === 'string') return entry
    if (entry.type === BLOB || (entry.type === TREE && depth === 'commits')) return 'complete'
    const base = entry.base === null ? null : this.#objects.get(entry.base)
    if (base === undefined && depth === 'commits') return 'base'
    if (!this.#take(entry.size)) return 'budget'
    const body = this.#inflate(pack.subarray(entry.dataAt), entry.size)
    if (body === null) return 'cut'
    const problem = this.#keep(entry, base, { data: body.data, at: from, depth })
    return problem ?? entry.dataAt + body.consumed
  }

  #keep({ type }: Entry, base: PackObject | null | undefined, given: Inflated): PackEnd | null {
    if (base === undefined) {
      this.unread += 1
      return null
    }
    const object = base === null ? plainObject(type, given.data) : this.#applied(base, given.data)
    if (typeof object === 'string') return object
    this.#add(object, given)
    return null
  }

  #applied(base: PackObject, delta: Uint8Array): PackObject | PackEnd {
    const data = applyDelta(base.data, delta, Math.min(PACK_BUDGET.objectBytes, this.#left))
    if (data === null) return 'malformed'
    return this.#take(data.length) ? { type: base.type, data } : 'budget'
  }

  #add(object: PackObject, { at, depth }: Inflated): void {
    const id = this.#idOf(object.type, object.data)
    this.#objects.set(at, object)
    this.#objects.set(id, object)
    if (object.type === 'commit') this.#addCommit(id, object.data, depth)
    else if (object.type === 'tag') this.#tagged.set(id, taggedId(object.data))
    else this.#addTree(id, object.data)
  }

  /**
   * Records a commit. A commit that follows a tree in the pack is no part of the fast-forward proof, so that the proof
   * does not depend on `depth`.
   */
  #addCommit(id: string, data: Uint8Array, depth: PackDepth): void {
    const commit = parseCommit(data)
    if (commit.kind === 'commit') this.#roots.set(id, commit.tree)
    else this.unread += 1
    if (depth === 'trees') return
    if (commit.kind === 'commit') this.parents.set(id, commit.parents)
    else this.unreadable.set(id, commit.detail)
  }

  #addTree(id: string, data: Uint8Array): void {
    const entries = parseTree(data)
    if (entries !== null) this.#entries.set(id, entries)
  }

  #take(bytes: number): boolean {
    if (bytes > PACK_BUDGET.objectBytes || bytes > this.#left) return false
    this.#left -= bytes
    return true
  }
}

function plainObject(type: number, data: Uint8Array): PackObject | PackEnd {
  if (type === COMMIT) return { type: 'commit', data }
  if (type === TREE) return { type: 'tree', data }
  return type === TAG ? { type: 'tag', data } : 'malformed'
}

type Entry = {
  readonly type: number
  /** Size in bytes after inflation. */
  readonly size: number
  /** Offset or id of the base of a delta; null for an object that is stored whole. */
  readonly base: number | string | null
  readonly dataAt: number
}

function readEntry(pack: Uint8Array, from: number): Entry | PackEnd {
  let at = from
  let byte = pack[at++] ?? 0
  const type = (byte >> 4) & 7
  let size = byte & 0x0f
  for (let scale = 16; byte >= 0x80; scale *= 128) {
    if (scale > 2 ** 46) return 'malformed'
    byte = pack[at++] ?? 0
    size += (byte & 0x7f) * scale
  }
  const behind = { type, size, base: null, dataAt: at }
  const entry =
    type === OFS_DELTA ? withOffset(pack, from, behind) : type === REF_DELTA ? withId(pack, behind) : behind
  return entry.dataAt < pack.length ? entry : 'cut'
}

/**
 * Reads the base offset of a delta (`gitformat-pack`, OFS_DELTA): seven bits per byte, highest first, plus one for each
 * continuation byte.
 */
function withOffset(pack: Uint8Array, from: number, entry: Entry): Entry {
  let at = entry.dataAt
  let byte = pack[at++] ?? 0
  let distance = byte & 0x7f
  while (byte >= 0x80 && distance < pack.length) {
    byte = pack[at++] ?? 0
    distance = (distance + 1) * 128 + (byte & 0x7f)
  }
  return { ...entry, base: from - distance, dataAt: at }
}

function withId(pack: Uint8Array, entry: Entry): Entry {
  const behind = entry.dataAt + ID_BYTES
  const id = Array.from(pack.subarray(entry.dataAt, behind), (byte) => byte.toString(16).padStart(2, '0'))
  return { ...entry, base: id.join(''), dataAt: behind }
}
