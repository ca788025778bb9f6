import { boundaryOf, partContent, partHead, readParts } from '../../request/body/multipart.ts'
import { isRefusal, type Refusal, refusal } from '../../request/canonical.ts'
import { scanJson } from '../../request/json/json-scan.ts'
import { FIND_BOUNDS } from '../../request/json/member-finder.ts'
import type { Sliced } from '../../sliced.ts'
import type { ProviderAct } from './kinds.ts'
import { addActs, foundActs } from './read.ts'
import type { CompiledTable } from './table.ts'

/**
 * What the fields of a multipart form make the provider do. The name of a part is a path (`session[tools][0][type]`), its
 * content a text, or JSON whatever its type says. Refuses what is no form that every server reads alike, but for a
 * session description (SDP), which names nothing.
 */
export function* readForm(
  table: CompiledTable,
  bytes: Uint8Array,
  contentType: string,
): Sliced<readonly ProviderAct[] | Refusal> {
  if (isSessionDescription(bytes, contentType)) return []
  const boundary = boundaryOf(contentType)
  if (isRefusal(boundary)) return boundary
  const parts = readParts(bytes, boundary)
  if (isRefusal(parts)) return parts
  const acts = new Map<string, ProviderAct>()
  for (const part of parts) {
    if (RECODED.test(partHead(bytes, part))) return recoded()
    const json = fieldAsJson(part.name, partContent(bytes, part))
    const scan = yield* scanJson(json, { keep: [], find: table.find })
    if (isRefusal(scan)) return scan
    for (const found of scan.found) addActs(acts, foundActs(table, found))
    yield
  }
  return [...acts.values()]
}

export function isReadForm({ table }: CompiledTable, type: string): boolean {
  return table.readForms?.some((name) => type === `${table.connector}.${name}`) === true
}

/** An SDP body begins with its version (RFC 8866, 5.1), so it is neither a form nor JSON. */
function isSessionDescription(bytes: Uint8Array, contentType: string): boolean {
  return /^\s*application\/sdp\s*$/i.test(contentType) && TEXT.decode(bytes.subarray(0, 3)) === 'v=0'
}

/** The form as if it had this part alone, as JSON. */
function fieldAsJson(name: string, content: Uint8Array): Uint8Array {
  const [before, after] = around(pathOf(name))
  const value = startsJson(content) ? content : ENCODER.encode(JSON.stringify(textOf(content)))
  const json = new Uint8Array(before.length + value.length + after.length)
  json.set(before)
  json.set(value, before.length)
  json.set(after, before.length + value.length)
  return json
}

/** What leads to the value at this path, and what follows it. */
function around(path: readonly string[]): readonly [Uint8Array, Uint8Array] {
  const before = path.map((key) => (key === ELEMENT ? '[' : `{${JSON.stringify(key)}:`))
  const after = path.map((key) => (key === ELEMENT ? ']' : '}')).reverse()
  return [ENCODER.encode(before.join('')), ENCODER.encode(after.join(''))]
}

const ELEMENT = ''

/** `a[b][0]`, `a[b][]` and `a.b.0` as keys from the root; empty for an element of a list. */
function pathOf(name: string): readonly string[] {
  const [root = '', ...keys] = name.replaceAll(']', '').split(/[[.]/)
  return [root, ...keys.map((key) => (/^[0-9]+$/.test(key) ? ELEMENT : key))]
}

/** An object or a list, behind what lenient parsers skip. */
function startsJson(content: Uint8Array): boolean {
  const start = content.findIndex((byte) => !SKIPPED.has(byte))
  return content[start] === 0x7b || content[start] === 0x5b
}

/** Blanks, and the bytes of a byte order mark. */
const SKIPPED: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf])

/** The beginning of a text; a JSON string is the text in it. */
function textOf(content: Uint8Array): string {
  const text = TEXT.decode(content.subarray(0, FIND_BOUNDS.textBytes)).trim()
  return text.replace(/^"(.*)"$/s, '$1')
}

const TEXT = new TextDecoder('utf-8')
const ENCODER = new TextEncoder()
/** Content in another charset or transfer encoding is not what its bytes say. */
const RECODED = /charset *= *"?(?!utf-?8\b)|content-transfer-encoding: *(?!(?:binary|[78]bit) *(?:\r|$))/i

function recoded(): Refusal {
  const detail = 'a part of the form has another charset or transfer encoding; send UTF-8 without an encoding'
  return refusal('unsupported_body', detail)
}
