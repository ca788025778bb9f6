const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+"
const QUOTED = '"[\\t\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]*"'
const LINE = new RegExp(`^([0-9A-Fa-f]{1,12})(?:;${TOKEN}(?:=(?:${TOKEN}|${QUOTED}))?)*$`)

/**
 * The digits in front of a chunk, of the line without its CRLF; null when it is none. Blanks are refused on both sides, as
 * Node's own parser does: readers differ about them, and a chunk that two of them measure differently hides a request.
 */
export function chunkDigits(line: string): string | null {
  return LINE.exec(line)?.[1] ?? null
}
