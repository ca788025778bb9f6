import { createHash } from 'node:crypto'
import { deflateSync } from 'node:zlib'

export type GitObject = { readonly type: 'commit' | 'tree' | 'blob' | 'tag'; readonly data: Buffer }
/** A delta of a git pack. The base is an object id, or the object `back` bytes earlier in the pack. */
export type GitDelta = { readonly base: string | { readonly back: number }; readonly delta: Buffer }

const TYPES = { commit: 1, tree: 2, blob: 3, tag: 4 } as const

export function idOf({ type, data }: GitObject): string {
  return createHash('sha1').update(`${type} ${data.length}\0`).update(data).digest('hex')
}

/** Returns a pack as `git pack-objects` writes it, with its checksum. */
export function packOf(entries: ReadonlyArray<GitObject | GitDelta>): Buffer {
  const head = Buffer.alloc(12)
  head.write('PACK')
  head.writeUInt32BE(2, 4)
  head.writeUInt32BE(entries.length, 8)
  const pack = Buffer.concat([head, ...entries.map(entryOf)])
  return Buffer.concat([pack, createHash('sha1').update(pack).digest()])
}

function entryOf(entry: GitObject | GitDelta): Buffer {
  if ('type' in entry) {
    return Buffer.concat([sizeOf(TYPES[entry.type], entry.data.length), deflateSync(entry.data)])
  }
  const { base, delta } = entry
  const where = typeof base === 'string' ? Buffer.from(base, 'hex') : distanceOf(base.back)
  return Buffer.concat([sizeOf(typeof base === 'string' ? 7 : 6, delta.length), where, deflateSync(delta)])
}

function sizeOf(type: number, length: number): Buffer {
  const bytes = [(type << 4) | (length & 15)]
  for (let rest = Math.floor(length / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80
    bytes.push(rest & 0x7f)
  }
  return Buffer.from(bytes)
}

function distanceOf(back: number): Buffer {
  const bytes = [back & 0x7f]
  for (let rest = (back >> 7) - 1; rest >= 0; rest = (rest >> 7) - 1) bytes.unshift(0x80 | (rest & 0x7f))
  return Buffer.from(bytes)
}

/** Returns a git delta that inserts all of `data`, for a base of `baseLength` bytes. */
export function insertingDelta(baseLength: number, data: Buffer): Buffer {
  const pieces = [varint(baseLength), varint(data.length)]
  for (let at = 0; at < data.length; at += 127) {
    const piece = data.subarray(at, at + 127)
    pieces.push(Buffer.from([piece.length]), piece)
  }
  return Buffer.concat(pieces)
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80)
  return Buffer.from([...bytes, rest])
}

export type Move = { readonly before: string; readonly after: string; readonly ref: string }

/** Returns the request body of `POST git-receive-pack` (git push). */
export function pushBody(moves: readonly Move[], pack: Buffer, shallow: readonly string[] = []): Buffer {
  const commands = moves.map(({ before, after, ref }, at) =>
    line(`${before} ${after} ${ref}${at === 0 ? '\0 report-status ofs-delta' : ''}`),
  )
  return Buffer.concat([
    Buffer.from([...shallow.map((id) => line(`shallow ${id}`)), ...commands, '0000'].join(''), 'latin1'),
    pack,
  ])
}

function line(text: string): string {
  return (text.length + 4).toString(16).padStart(4, '0') + text
}
