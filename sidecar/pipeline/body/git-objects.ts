import { createHash } from 'node:crypto'
import { inflateSync } from 'node:zlib'

/**
 * One zlib stream at the start of `from` that holds exactly `size` bytes, and how many bytes it took. Null when it is
 * broken, cut or holds another number. Never makes more than `size` bytes.
 */
export function inflate(
  from: Uint8Array,
  size: number,
): { readonly data: Uint8Array; readonly consumed: number } | null {
  try {
    // With `info` the result includes the engine, which has the number of bytes read. The types omit it.
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

/** The least that the engine takes. */
const MIN_CHUNK_BYTES = 64

/** Hex, as git names an object. SHA-1 is the name that it has there, no protection. */
export function objectId(type: string, data: Uint8Array): string {
  return createHash('sha1').update(`${type} ${data.length}\0`).update(data).digest('hex')
}
