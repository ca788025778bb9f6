/** Keeps a byte order mark, which strict JSON refuses. */
const STRICT_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of valid UTF-8; null for anything else. */
export function strictText(bytes: Buffer): string | null {
  try {
    return STRICT_UTF8.decode(bytes)
  } catch {
    return null
  }
}
