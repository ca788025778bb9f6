const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+"
const QUOTED = '"[\\t\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]*"'
const LINE = new RegExp(`^([0-9A-Fa-f]{1,12})(?:;${TOKEN}(?:=(?:${TOKEN}|${QUOTED}))?)*$`)

/**
 * Returns the hexadecimal digits of a chunk-size line without its CRLF; null when the line is invalid. Refuses
 * whitespace, as Node's parser does. Parsers disagree about whitespace, and a chunk to which two parsers assign
 * different sizes can smuggle a request.
 */
export function chunkDigits(line: string): string | null {
  return LINE.exec(line)?.[1] ?? null
}
