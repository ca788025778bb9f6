import { createHash } from 'node:crypto'
import { inflateSync } from 'node:zlib'

/** No commit is longer; a larger object in a pack is a file, and ends what is looked at. */
const MAX_OBJECT_BYTES = 4 * 1024 * 1024

/** One zlib stream at the start of `from`: what it holds, and how many bytes it took. Null when it is broken or cut. */
export function inflate(from: Uint8Array): { readonly data: Uint8Array; readonly consumed: number } | null {
  try {
    // With `info` the engine comes along and knows how far it read; the types do not say so.
    const { buffer, engine } = inflateSync(from, {
      info: true,
      maxOutputLength: MAX_OBJECT_BYTES,
    }) as unknown as {
      readonly buffer: Buffer
      readonly engine: { readonly bytesWritten: number }
    }
    return { data: buffer, consumed: engine.bytesWritten }
  } catch {
    return null
  }
}

/** Hex, as git names an object. SHA-1 is the name that it has there, no protection. */
export function objectId(type: string, data: Uint8Array): string {
  return createHash('sha1').update(`${type} ${data.length}\0`).update(data).digest('hex')
}
