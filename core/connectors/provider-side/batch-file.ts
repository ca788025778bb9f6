import { boundaryOf, type Part, partContent, partHead, readParts } from '../../request/body/multipart.ts'
import { isRefusal, type Refusal } from '../../request/canonical.ts'
import { scanJson } from '../../request/json/json-scan.ts'
import type { Sliced } from '../../sliced.ts'
import type { UploadFacts } from '../fields/body-readers.ts'
import type { ProviderAct } from './kinds.ts'
import { RECODED } from './recoded.ts'
import type { CompiledTable } from './table.ts'
import { UploadFindings, type UploadRules } from './upload-findings.ts'

/** Returns the provider-side act for an upload that may contain requests and that the gateway cannot read. */
export function unreadAct(field: string): ProviderAct {
  return { kind: 'provider_tool.unknown', target: undefined, reaches: 'unread', field }
}

export const UNREAD_FILE =
  'an uploaded file that the gateway cannot read and that may contain the requests of a batch'
/** Maximum number of lines that the provider accepts in one batch file. */
const MAX_LINES = 50_000

/**
 * Reads the provider-side acts and the handles of the model requests in an uploaded file with one JSON object per line.
 * The result is empty if the form states a purpose that is not in `batchPurposes`. A file that the gateway cannot parse
 * counts as a file that may contain any request.
 */
export function* readBatchFile(
  rules: UploadRules,
  bytes: Uint8Array,
  contentType: string,
): Sliced<UploadFacts | Refusal> {
  const boundary = boundaryOf(contentType)
  const parts = isRefusal(boundary) ? boundary : readParts(bytes, boundary)
  const findings = new UploadFindings(rules)
  if (isRefusal(parts)) return findings.with(unreadAct(UNREAD_FILE))
  if (!holdsRequests(rules, bytes, parts)) return findings.facts()
  for (const part of parts.filter(({ name }) => name === 'file')) {
    if (isRecoded(bytes, part)) return findings.with(unreadAct(UNREAD_FILE))
    const wrong = yield* readLines(rules, partContent(bytes, part), findings)
    if (wrong === 'unread') return findings.with(unreadAct(UNREAD_FILE))
    if (wrong !== null) return wrong
  }
  return findings.facts()
}

export function isBatchUpload({ table }: CompiledTable, type: string): boolean {
  return table.batchUploads?.some((name) => type === `${table.connector}.${name}`) === true
}

function holdsRequests(
  { table: { table } }: UploadRules,
  bytes: Uint8Array,
  parts: readonly Part[],
): boolean {
  const stated = parts.filter(({ name }) => name.trim().toLowerCase() === 'purpose')
  if (stated.some((part) => isRecoded(bytes, part))) return true
  const purposes = stated.map((part) =>
    TEXT.decode(partContent(bytes, part).subarray(0, 64)).trim().toLowerCase(),
  )
  return purposes.length === 0 || purposes.some((purpose) => table.batchPurposes?.includes(purpose) === true)
}

/**
 * Reports whether the part states an encoding such as quoted-printable. Some servers (Go) decode such a part, so the
 * content that they read differs from the content that the gateway reads.
 */
function isRecoded(bytes: Uint8Array, part: Part): boolean {
  return RECODED.test(partHead(bytes, part))
}

function* readLines(
  { find }: UploadRules,
  content: Uint8Array,
  findings: UploadFindings,
): Sliced<Refusal | 'unread' | null> {
  let [lines, since] = [0, 0]
  for (const line of linesOf(content)) {
    lines += 1
    const scan = yield* scanJson(line, { keep: [], find })
    if (isRefusal(scan)) return judgeLine(scan)
    findings.add(scan.found)
    since += line.length + LINE_COST
    if (since >= SLICE_BYTES) yield
    since %= SLICE_BYTES
  }
  return lines > MAX_LINES ? 'unread' : null
}

function judgeLine(refusal: Refusal): Refusal | 'unread' {
  return refusal.code === 'malformed_request' ? 'unread' : refusal
}

/** Yields the lines that are not blank. */
function* linesOf(content: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < content.length; ) {
    const next = content.indexOf(LF, start)
    const end = next === -1 ? content.length : next
    const line = content.subarray(start, end)
    if (!isBlank(line)) yield line
    start = end + 1
  }
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === CR || byte === 0x20 || byte === 0x09)
}

const TEXT = new TextDecoder('latin1')
const [CR, LF] = [0x0d, 0x0a]
const SLICE_BYTES = 64 * 1024
/** Fixed cost of scanning a line, in bytes. The cost is added to the length of the line. */
const LINE_COST = 512
