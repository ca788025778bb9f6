import { createHash } from 'node:crypto'
import { inflateSync } from 'node:zlib'

/**
 * Inflates one zlib stream at the start of `from` that contains exactly `size` bytes. Returns the data and the number
 * of bytes read. Returns null when the stream is broken, incomplete or of another size. Never produces more than `size`
 * bytes.
 */
export function inflate(
  from: Uint8Array,
  size: number,
): { readonly data: Uint8Array; readonly consumed: number } | null {
  try {
    // With `info` the result includes the zlib engine, which has the number of bytes read. Node's types omit the
    // option.
    const { buffer, engine } = inflateSync(from, {
      info: true,
      maxOutputLength: Math.max(size, 1),
      chunkSize: Math.max(size + 1, MIN_CHUNK_BYTES),
    }) as unknown as {
      readonly buffer: Buffer
      readonly engine: { readonly bytesWritten: number }
    }
    return buffer.length === size ? { data: buffer, consumed: engine.bytesWritten } : null
  } catch {
    return null
  }
}

/** Minimum of zlib's `chunkSize` option. */
const MIN_CHUNK_BYTES = 64

/**
 * Returns the id of a git object in hexadecimal. Git defines the id as SHA-1, so the gateway cannot choose a stronger
 * hash.
 */
export function objectId(type: string, data: Uint8Array): string {
  return createHash('sha1').update(`${type} ${data.length}\0`).update(data).digest('hex')
}
