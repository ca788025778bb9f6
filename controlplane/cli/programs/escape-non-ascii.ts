/**
 * Escapes non-ASCII characters of a bundle, because one of them makes V8 store the whole source with two bytes a character:
 * 2.6 MiB of a gateway. The bundler escapes string literals only; `\u` escapes are also valid in regular expressions, and have
 * no effect in comments.
 */
export function escapeNonAscii(text: string): string {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
