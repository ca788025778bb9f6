/**
 * Escapes non-ASCII characters of a bundle. A single non-ASCII character makes V8 store the whole source with two
 * bytes a character, which takes 2.6 MiB of a gateway's memory. The bundler escapes string literals only. `\u`
 * escapes are also valid in regular expressions, and have no effect in comments.
 */
export function escapeNonAscii(text: string): string {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
