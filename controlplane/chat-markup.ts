/**
 * Escapes the characters `&`, `<` and `>`, because the chat provider uses these characters to mark links and
 * mentions.
 */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
