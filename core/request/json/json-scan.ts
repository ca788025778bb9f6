import type { Sliced } from '../../sliced.ts'
import type { Refusal } from '../canonical.ts'
import { isUtf8, Utf8Check } from '../utf8.ts'
import { SCAN_BOUNDS } from './json-bounds.ts'
import { notUtf8 } from './json-problems.ts'
import { JsonScanner, type ScannedJson, type ScanRequest } from './json-scanner.ts'

/**
 * Parses a JSON text of any length to its end, in slices, without building its value. Refuses the same texts as
 * `parseStrictJson`: invalid JSON, excessive depth, duplicate keys in any object, keys that become a kept key by
 * folding (see `fold`), NUL in a key, a byte order mark, trailing data, invalid UTF-8. `SCAN_BOUNDS` limits the memory,
 * not the text's length.
 */
export function* scanJson(bytes: Uint8Array, { keep, find }: ScanRequest): Sliced<ScannedJson | Refusal> {
  const scan = new JsonScanner()
  scan.begin(bytes, { keep, find })
  const utf8 = new Utf8Check()
  for (let end = 0; end < bytes.length; ) {
    const start = end
    end = Math.min(bytes.length, start + SCAN_BOUNDS.sliceBytes)
    if (!utf8.accepts(bytes.subarray(start, end), end < bytes.length)) return notUtf8()
    const wrong = scan.readTo(end)
    if (wrong !== null) return wrong
    if (end < bytes.length) yield
  }
  return scan.finish()
}

/**
 * Scans like `scanJson`, but in one slice. The scanner is reused, because its objects were a tenth of all allocations
 * of a request in the benchmark B1.
 */
export function scanShortJson(bytes: Uint8Array, request: ScanRequest): ScannedJson | Refusal {
  if (!isUtf8(bytes)) return notUtf8()
  shared.begin(bytes, request)
  const result = shared.readTo(bytes.length) ?? shared.finish()
  shared.begin(NO_BYTES, NO_REQUEST)
  return result
}

const NO_BYTES = new Uint8Array(0)
const NO_REQUEST: ScanRequest = { keep: [] }
/** Scanner of all calls of `scanShortJson`. Between calls it keeps its frame objects, but no data of a text. */
const shared = new JsonScanner()
