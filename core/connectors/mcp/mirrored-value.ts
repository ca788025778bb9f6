/**
 * Decodes the value of a header that repeats a part of the body. `=?base64?…?=` wraps text that is invalid in a header.
 * Null for ambiguous values: a wrapper in another spelling or around a part of the value, and bytes beyond ASCII.
 */
export function decodeMirrored(value: string): string | null {
  const text = value.trim()
  if (!/^[\t\u0020-\u007e]*$/.test(text)) return null
  if (!/^=\?base64\?.*\?=$/i.test(text)) return text
  const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(text)
  if (encoded === null) return null
  try {
    const bytes = Uint8Array.from(atob(encoded[1] ?? ''), (char) => char.charCodeAt(0))
    return STRICT_UTF8.decode(bytes)
  } catch {
    return null
  }
}

const STRICT_UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
