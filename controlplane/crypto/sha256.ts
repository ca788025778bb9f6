import { createHash } from 'node:crypto'

/** Returns the SHA-256 of the text's UTF-8 bytes, in lower-case hex. */
export function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
