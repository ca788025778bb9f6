import { isRefusal, type Refusal, refusal } from './canonical.ts'

/** The boundary of a `multipart/form-data` Content-Type, or why readers could find different ones. */
export function boundaryOf(contentType: string): string | Refusal {
  const match = /^\s*multipart\/form-data\s*;\s*boundary=(?:"([^"\\]{1,70})"|([^\s";,]{1,70}))\s*$/i.exec(
    contentType,
  )
  const boundary = match?.[1] ?? match?.[2]
  if (boundary !== undefined && /^[0-9A-Za-z'()+_,./:=? -]*[0-9A-Za-z'()+_,./:=?-]$/.test(boundary))
    return boundary
  return refusal(
    'unsupported_body',
    'a multipart body needs "multipart/form-data; boundary=…" and no other parameter',
  )
}

const HEADER_END = '\r\n\r\n'
/** What clients send: one disposition with a plain name, perhaps a file name, perhaps a type and a length. */
const DISPOSITION =
  /^content-disposition: *form-data; *name="([^"\\%\r\n]*)"(?:; *filename="[^"\\\r\n]*")?(?:; *filename\*=[^;"\r\n]*)?$/i
const OTHER = /^content-(?:type|length|transfer-encoding): *[^\r\n]*$/i

/**
 * The names of the parts of a multipart form, in order. Strict about what surrounds them, because servers disagree
 * about everything else: whatever is not plainly one form is refused (415).
 */
export function readPartNames(bytes: Uint8Array, boundary: string): readonly string[] | Refusal {
  const parts = readParts(bytes, boundary)
  return isRefusal(parts) ? parts : parts.map(({ name }) => name)
}

/** `bytes`: head and content of the part, one character a byte, without the delimiters around them. */
export type Part = { readonly name: string; readonly bytes: string }

/** The parts of a multipart form, in order; 415 as `readPartNames`. */
export function readParts(bytes: Uint8Array, boundary: string): readonly Part[] | Refusal {
  // One character a byte, so that no decoding can move a delimiter.
  const text = latin1Of(bytes)
  const delimiter = `--${boundary}`
  if (!text.startsWith(delimiter)) return unclear('begins with something else than its boundary')
  const pieces = text.split(`\r\n${delimiter}`)
  const [first = '', ...rest] = pieces
  const parts = [first.slice(delimiter.length), ...rest]
  const last = parts.pop() ?? ''
  if (!/^--(?:\r\n)?$/.test(last)) return unclear('does not end with its closing boundary')
  // A line that begins with LF or CR alone before the boundary is a delimiter to lenient readers.
  if (parts.some((part) => part.includes(`\n${delimiter}`) || part.includes(`\r${delimiter}`)))
    return unclear('holds its boundary within a part')
  const named: Part[] = []
  for (const part of parts) {
    const name = nameOf(part)
    if (typeof name !== 'string') return name
    named.push({ name, bytes: part })
  }
  return named
}

function nameOf(part: string): string | Refusal {
  const end = part.indexOf(HEADER_END)
  if (!part.startsWith('\r\n') || end === -1) return unclear('has a part without a head')
  const lines = part.slice(2, end).split('\r\n')
  const names = lines.flatMap((line) => DISPOSITION.exec(line)?.[1] ?? [])
  const isPlain = lines.every((line) => DISPOSITION.test(line) || OTHER.test(line))
  const [name] = names
  return isPlain && names.length === 1 && name !== undefined
    ? name
    : unclear('has a part whose head is not plain')
}

function latin1Of(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += CHUNK)
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK))
  return text
}

const CHUNK = 8_192

function unclear(what: string): Refusal {
  return refusal('unsupported_body', `the multipart body ${what}; send it as a form or as JSON`)
}
