import { createHash } from 'node:crypto'

/** Returns the SHA-256 of the UTF-8 bytes of the text, lower-case hex. */
export function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
