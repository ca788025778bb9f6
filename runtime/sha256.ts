import { hash } from 'node:crypto'

/** Returns the SHA-256 of the bytes, or of the UTF-8 bytes of the text. */
export function sha256(data: Uint8Array | string): Buffer {
  return hash('sha256', data, 'buffer')
}

/** Returns the SHA-256 in lower-case hex. */
export function sha256Hex(data: Uint8Array | string): string {
  return hash('sha256', data, 'hex')
}
