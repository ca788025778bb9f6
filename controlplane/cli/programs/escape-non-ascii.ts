/**
 * One character beyond ASCII makes Node keep the whole text in two bytes each. The bundler escapes them in strings only, and
 * the same escape means the same in a regular expression, and nothing in a comment.
 */
export function escapeNonAscii(text: string): string {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
