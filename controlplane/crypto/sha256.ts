import { hash } from 'node:crypto'

/** Returns the SHA-256 of the text's UTF-8 bytes, in lower-case hex. */
export function sha256Hex(text: string): string {
  return hash('sha256', text)
}

/** Returns the SHA-256 of the text's UTF-8 bytes. */
export function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
