const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const CONTROL = /[^\t\x20-\x7e\x80-\xff]/

/**
 * Parses the field lines of a head or of trailers from `from` into `out`: names and values, alternating, in latin-1.
 * Order, case and duplicates are kept; whitespace around values is removed. Strict by RFC 9112: CRLF only, no folding,
 * no space before a colon. Returns the problem with a line, or null.
 */
export function parseFields(text: string, from: number, out: string[]): string | null {
  let at = from
  while (at < text.length) {
    const found = text.indexOf('\r\n', at)
    const end = found === -1 ? text.length : found
    const colon = text.indexOf(':', at)
    if (colon === -1 || colon > end) return 'a header line has no colon'
    const name = text.slice(at, colon)
    if (!TOKEN.test(name)) return 'a header name is empty, folded, or has a character that is not allowed'
    const value = trimmed(text, colon + 1, end)
    if (CONTROL.test(value)) return `the value of ${name} has a control character`
    out.push(name, value)
    at = end + 2
  }
  return null
}

function trimmed(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9
}
