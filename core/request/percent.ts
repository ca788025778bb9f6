/** Decodes percent escapes once. Null for an invalid escape or invalid UTF-8. */
export function decodePercent(text: string): string | null {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/**
 * Decodes percent escapes once in a form or query component, where `+` is a space. Null for an invalid escape or
 * invalid UTF-8.
 */
export function decodeComponent(text: string): string | null {
  return decodePercent(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

/** Decodes percent escapes once, as lenient servers do: invalid escapes stay, and invalid UTF-8 is replaced. */
export function decodedLeniently(text: string): string {
  return decodePercent(text) ?? decodeAnyhow(text)
}

/** Reports whether decoding a once-decoded text again would produce a dot, slash, backslash or NUL. */
export function hidesSecondEncoding(decoded: string): boolean {
  return decoded.includes('%') && /%(25)*(2e|2f|5c|00)/i.test(decoded)
}

/** Decodes percent escapes repeatedly until the text stops changing, at most `MAX_DECODINGS` times. */
export function decodedFully(text: string): string {
  return text.includes('%') ? (decodings([text]).at(-1)?.[0] ?? text) : text
}

/**
 * Returns the texts, the texts decoded once, and so on until they stop changing, because lenient servers decode
 * several times. At most `MAX_DECODINGS` steps.
 */
export function decodings(texts: readonly string[]): readonly (readonly string[])[] {
  const found = [texts]
  for (let now = texts; found.length <= MAX_DECODINGS; ) {
    const next = now.map(decodedLeniently)
    if (next.every((text, at) => text === now[at])) return found
    found.push(next)
    now = next
  }
  return found
}

function decodeAnyhow(text: string): string {
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    const bytes = escapes
      .slice(1)
      .split('%')
      .map((hex) => Number.parseInt(hex, 16))
    return ANY_UTF8.decode(Uint8Array.from(bytes))
  })
}

const ANY_UTF8 = new TextDecoder('utf-8', { ignoreBOM: true })

const MAX_DECODINGS = 8

/** Reports whether the text contains C0 control characters or DEL. */
export function hasControl(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || code === 0x7f) return true
  }
  return false
}
