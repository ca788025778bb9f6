import { isRefusal, type Refusal, refusal } from '../canonical.ts'

/**
 * Returns the boundary in a Content-Type `multipart/form-data`. Returns a refusal if parsers could read different
 * boundaries.
 */
export function boundaryOf(contentType: string): string | Refusal {
  const match = /^\s*multipart\/form-data\s*;\s*boundary=(?:"([^"\\]{1,70})"|([^\s";,]{1,70}))\s*$/i.exec(
    contentType,
  )
  const boundary = match?.[1] ?? match?.[2]
  if (boundary !== undefined && /^[0-9A-Za-z'()+_,./:=? -]*[0-9A-Za-z'()+_,./:=?-]$/.test(boundary))
    return boundary
  return refusal(
    'unsupported_body',
    'the Content-Type of a multipart body must be "multipart/form-data; boundary=…", without other parameters',
  )
}

const HEADER_END = '\r\n\r\n'
/** Matches the Content-Disposition that common clients send: a plain name, and optionally a file name. */
const DISPOSITION =
  /^content-disposition: *form-data; *name="([^"\\%\r\n]*)"(?:; *filename="[^"\\\r\n]*")?(?:; *filename\*=[^;"\r\n]*)?$/i
const OTHER = /^content-(?:type|length|transfer-encoding): *[^\r\n]*$/i

/**
 * Returns the names of the parts of a multipart form, in order. Refuses an ambiguous form (415). The syntax of
 * delimiters is strict, because servers disagree about all variants.
 */
export function readPartNames(bytes: Uint8Array, boundary: string): readonly string[] | Refusal {
  const parts = readParts(bytes, boundary)
  return isRefusal(parts) ? parts : parts.map(({ name }) => name)
}

/**
 * Part of a multipart form. Its header fields and content are the bytes from `start` to before `end`, without
 * delimiters.
 */
export type Part = { readonly name: string; readonly start: number; readonly end: number }

export const MAX_PARTS = 1_000
export const MAX_PART_HEAD = 4_096

/**
 * Returns the parts of a multipart form, in order, at most `MAX_PARTS`. Refuses an ambiguous form (415), as
 * `readPartNames` does.
 */
export function readParts(bytes: Uint8Array, boundary: string): readonly Part[] | Refusal {
  // latin-1 has one character per byte, so decoding cannot move a delimiter.
  const text = LATIN1.decode(bytes)
  const delimiter = `--${boundary}`
  if (!text.startsWith(delimiter)) return unclear('the multipart body does not begin with its boundary')
  const named: Part[] = []
  let start = delimiter.length
  for (let end = text.indexOf(`\r\n${delimiter}`, start); end !== -1; ) {
    if (named.length === MAX_PARTS) return unclear(`the multipart body has more than ${MAX_PARTS} parts`)
    const name = nameOf(text, start, end)
    if (typeof name !== 'string') return name
    named.push({ name, start, end })
    start = end + 2 + delimiter.length
    end = text.indexOf(`\r\n${delimiter}`, start)
  }
  if (!/^--(?:\r\n)?$/.test(text.slice(start, start + 5)) || start + 4 < text.length)
    return unclear('the multipart body does not end with its closing boundary')
  return hidesBoundary(text, delimiter)
    ? unclear('the multipart body contains its boundary within a part')
    : named
}

/** Returns the header fields of a part that `readParts` found. */
export function partHead(bytes: Uint8Array, part: Part): string {
  return LATIN1.decode(bytes.subarray(part.start, headEndOf(bytes, part)))
}

/** Returns the content of a part that `readParts` found. */
export function partContent(bytes: Uint8Array, part: Part): Uint8Array {
  return bytes.subarray(headEndOf(bytes, part) + HEADER_END.length, part.end)
}

function headEndOf(bytes: Uint8Array, { start, end }: Part): number {
  const head = LATIN1.decode(bytes.subarray(start, Math.min(end, start + MAX_PART_HEAD)))
  return start + head.indexOf(HEADER_END)
}

/**
 * Reports whether a lone LF or CR precedes the boundary anywhere, because lenient parsers treat these bytes as the
 * start of a delimiter.
 */
function hidesBoundary(text: string, delimiter: string): boolean {
  for (let at = text.indexOf(`\n${delimiter}`); at !== -1; at = text.indexOf(`\n${delimiter}`, at + 1)) {
    if (text[at - 1] !== '\r') return true
  }
  return text.includes(`\r${delimiter}`)
}

/** Returns the name of the part between `start` and `end`; a refusal if parsers could read different names. */
function nameOf(text: string, start: number, end: number): string | Refusal {
  const head = text.slice(start, Math.min(end, start + MAX_PART_HEAD))
  const headEnd = head.indexOf(HEADER_END)
  if (!head.startsWith('\r\n') || headEnd === -1)
    return unclear('the multipart body has a part without headers')
  const lines = head.slice(2, headEnd).split('\r\n')
  const names = lines.flatMap((line) => DISPOSITION.exec(line)?.[1] ?? [])
  const isPlain = lines.every((line) => DISPOSITION.test(line) || OTHER.test(line))
  const [name] = names
  return isPlain && names.length === 1 && name !== undefined
    ? name
    : unclear('the multipart body has a part with an unsupported header')
}

const LATIN1 = new TextDecoder('latin1')

function unclear(what: string): Refusal {
  return refusal('unsupported_body', `${what}; send a URL-encoded form or JSON`)
}
