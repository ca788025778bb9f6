/** Escapes the characters `&`, `<` and `>`, with which the provider marks links and mentions. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
