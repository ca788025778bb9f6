const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Returns the first `maxBytes` bytes of a JSON string as text, without a truncated escape or character at the end. The
 * text also ends before a U+FFFD.
 */
export function textBeginning(
  bytes: Uint8Array,
  { start, end }: { readonly start: number; readonly end: number },
  maxBytes: number,
): string {
  const text = UTF8.decode(bytes.subarray(start + 1, Math.min(end - 1, start + 1 + maxBytes)))
  const whole = /^(?:[^\\\ufffd]|\\(?:u[0-9a-fA-F]{4}|[^u]))*/.exec(text)?.[0] ?? ''
  return String(JSON.parse(`"${whole}"`))
}
