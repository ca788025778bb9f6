import { boundaryOf, partContent, partHead, readParts } from '../../request/body/multipart.ts'
import { isRefusal, type Refusal, refusal } from '../../request/canonical.ts'
import type { Pairs } from '../../request/headers/repeated-names.ts'
import { scanJson } from '../../request/json/json-scan.ts'
import { FIND_BOUNDS } from '../../request/json/member-finder.ts'
import type { Sliced } from '../../sliced.ts'
import type { UploadFacts } from '../fields/body-readers.ts'
import { RECODED } from './recoded.ts'
import type { CompiledTable } from './table.ts'
import { UploadFindings, type UploadRules } from './upload-findings.ts'

/**
 * Reads the provider-side acts and the handles in the fields of a multipart form. The name of a part is a member path
 * (`session[tools][0][type]`); its content is text, or JSON regardless of its media type. Refuses a form that a server
 * could parse differently than the gateway. Accepts a session description (SDP), because it contains no act.
 */
export function* readForm(
  rules: UploadRules,
  bytes: Uint8Array,
  contentType: string,
): Sliced<UploadFacts | Refusal> {
  const findings = new UploadFindings(rules)
  if (isSessionDescription(bytes, contentType)) return findings.facts()
  const boundary = boundaryOf(contentType)
  if (isRefusal(boundary)) return boundary
  const parts = readParts(bytes, boundary)
  if (isRefusal(parts)) return parts
  const fields: (readonly [string, string])[] = []
  for (const part of parts) {
    const head = partHead(bytes, part)
    if (RECODED.test(head)) return recoded()
    const content = partContent(bytes, part)
    const scan = yield* scanJson(fieldAsJson(part.name, content), { keep: [], find: rules.find })
    if (isRefusal(scan)) return scan
    findings.add(scan.found)
    fields.push(...fieldOf(part.name, head, content))
    yield
  }
  return { ...findings.facts(), fields }
}

/** Returns the field in a part of a form; empty for a file. */
function fieldOf(name: string, head: string, content: Uint8Array): Pairs {
  const isFile = FILE.test(head) && content.length > MAX_TEXT_FILE
  return isFile ? [] : [[name, TEXT.decode(content)]]
}

/** Matches the head of a part that is a file. Some servers accept a short file in place of a field. */
const FILE = /;\s*filename\*?=/i
const MAX_TEXT_FILE = 4_096

/**
 * Reads the handles in the fields of a form that uploads a file. Parts with a file name are files and are skipped. If
 * servers could disagree about the parts, the handles are `unread`. Refuses a field that is not plain UTF-8.
 */
export function* readFileForm(
  rules: UploadRules,
  bytes: Uint8Array,
  contentType: string,
): Sliced<UploadFacts | Refusal> {
  const boundary = boundaryOf(contentType)
  const parts = isRefusal(boundary) ? boundary : readParts(bytes, boundary)
  if (isRefusal(parts)) return UNREAD_IDS
  const findings = new UploadFindings(rules)
  for (const part of parts) {
    const head = partHead(bytes, part)
    if (FILE.test(head)) continue
    if (RECODED.test(head)) return recoded()
    const scan = yield* scanJson(fieldAsJson(part.name, partContent(bytes, part)), {
      keep: [],
      find: rules.find,
    })
    if (isRefusal(scan)) return scan
    findings.add(scan.found)
    yield
  }
  return findings.facts()
}

export const UNREAD_IDS: UploadFacts = { acts: [], handles: 'unread' }

export function isReadForm({ table }: CompiledTable, type: string): boolean {
  return table.readForms?.some((name) => type === `${table.connector}.${name}`) === true
}

/**
 * Reports whether the body is a session description (SDP). No server reads such a body as a form or JSON, because it
 * begins with its version (RFC 8866, 5.1).
 */
function isSessionDescription(bytes: Uint8Array, contentType: string): boolean {
  return /^\s*application\/sdp\s*$/i.test(contentType) && TEXT.decode(bytes.subarray(0, 3)) === 'v=0'
}

/**
 * Returns a JSON text with this part of the form as its only member, so that the scan of JSON bodies can read the
 * part.
 */
function fieldAsJson(name: string, content: Uint8Array): Uint8Array {
  const [before, after] = around(pathOf(name))
  const value = startsJson(content) ? content : ENCODER.encode(JSON.stringify(textOf(content)))
  const json = new Uint8Array(before.length + value.length + after.length)
  json.set(before)
  json.set(value, before.length)
  json.set(after, before.length + value.length)
  return json
}

/** Returns the JSON text that precedes and the JSON text that follows a value at this path. */
function around(path: readonly string[]): readonly [Uint8Array, Uint8Array] {
  const before = path.map((key) => (key === ELEMENT ? '[' : `{${JSON.stringify(key)}:`))
  const after = path.map((key) => (key === ELEMENT ? ']' : '}')).reverse()
  return [ENCODER.encode(before.join('')), ENCODER.encode(after.join(''))]
}

const ELEMENT = ''

/** Converts `a[b][0]`, `a[b][]` and `a.b.0` to keys from the root; the key of a list element is empty. */
function pathOf(name: string): readonly string[] {
  const [root = '', ...keys] = name.replaceAll(']', '').split(/[[.]/)
  return [root, ...keys.map((key) => (/^[0-9]+$/.test(key) ? ELEMENT : key))]
}

/** Reports whether the content begins with an object or a list, also after bytes that lenient parsers skip. */
function startsJson(content: Uint8Array): boolean {
  const start = content.findIndex((byte) => !SKIPPED.has(byte))
  return content[start] === 0x7b || content[start] === 0x5b
}

/** Bytes that lenient parsers skip: blanks, and the byte order mark. */
const SKIPPED: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf])

/** Returns the beginning of a text. For a JSON string, returns the beginning of its value. */
function textOf(content: Uint8Array): string {
  const text = TEXT.decode(content.subarray(0, FIND_BOUNDS.textBytes)).trim()
  return text.replace(/^"(.*)"$/s, '$1')
}

const TEXT = new TextDecoder('utf-8')
const ENCODER = new TextEncoder()
function recoded(): Refusal {
  const detail = 'a part of the form has another charset or transfer encoding; send UTF-8 without an encoding'
  return refusal('unsupported_body', detail)
}
