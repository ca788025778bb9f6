import type { Action } from '../../../core/action/action.ts'
import { nameSeen } from '../../../core/connectors/classify.ts'
import { createKeyScan, isPlainJson, type KeyScan } from '../../../core/request/body/body.ts'
import type { BodyWatch } from '../../upstream/outbound.ts'
import type { Exchange } from '../exchange.ts'
import { isSettledByBody, type ProvisionalClassification } from './provisional-classification.ts'

/** Enough for every body whose class is worth a name; a scan of a large upload would cost more than forwarding it. */
const MAX_SCANNED = 256 * 1024

/**
 * Scans a streamed body for the key that determines the candidate, for the record only. The request keeps its set of
 * candidates, represented by the strictest, unless the whole body was scanned and contains the key at most once.
 */
export function scanCandidates(exchange: Exchange): BodyWatch | null {
  const { provisional, named, request } = exchange
  // The key scan supports only JSON in UTF-8 without a content encoding.
  const isReadable = request !== undefined && isPlainJson(request.body)
  const isOpen = named !== undefined && isSettledByBody(named)
  return isOpen && provisional !== undefined && isReadable ? new CandidateScan(exchange, provisional) : null
}

class CandidateScan implements BodyWatch {
  readonly #exchange: Exchange
  readonly #provisional: ProvisionalClassification
  readonly #patterns: Patterns
  /** Made when a key is in sight: most bodies never need it. */
  #scan: KeyScan | null = null
  #seen = 0
  /** False once a body that arrived in one piece was no JSON object: servers differ in how they read it. */
  #isObject = true
  /** A name stands in the whole body, or behind what is scanned. */
  #isNamed = false
  /** The last bytes of what was searched: a name may be cut between two chunks. */
  #tail = ''

  constructor(exchange: Exchange, provisional: ProvisionalClassification) {
    this.#exchange = exchange
    this.#provisional = provisional
    this.#patterns = patternsOf(provisional.keys)
  }

  push(chunk: Buffer): void {
    const scanned = Math.max(0, Math.min(chunk.length, MAX_SCANNED - this.#seen))
    // Most bodies arrive in one piece and name no such key: a native search says so without a scan.
    const isWhole = this.#seen === 0 && chunk.length === this.#length
    this.#seen += chunk.length
    if (isWhole && this.#isPlain(chunk.toString('latin1'))) return
    if (scanned > 0) {
      this.#scan ??= createKeyScan(this.#provisional.keys)
      this.#scan.push(chunk.subarray(0, scanned))
      this.#tail = chunk.toString('latin1', Math.max(0, scanned - LONGEST_NAME), scanned)
    }
    if (scanned < chunk.length) this.#isNamed ||= this.#search(chunk.subarray(scanned))
  }

  answered(): void {
    const action = this.#settled()
    if (action === null) return
    this.#exchange.actions = [action]
    this.#exchange.named = { kind: 'actions', actions: [action] }
  }

  get #length(): number | undefined {
    return this.#exchange.request?.body.length
  }

  /** No key is in sight. */
  #isPlain(text: string): boolean {
    this.#isObject = OBJECT_START.test(text)
    return !isFound(this.#patterns.word, text)
  }

  #search(chunk: Buffer): boolean {
    const text = this.#tail + chunk.toString('latin1')
    this.#tail = text.slice(-LONGEST_NAME)
    return isFound(this.#patterns.key, text)
  }

  #settled(): Action | null {
    const scan = this.#scan
    const { unseen } = this.#provisional
    if (!this.#isObject) return null
    if (scan === null) return this.#seen > 0 ? unseen : null
    if (scan.isAmbiguous || this.#isNamed || !(scan.isClosed || this.#seen === this.#length)) return null
    const { connector, request } = this.#exchange
    return connector === undefined || request === undefined ? null : nameSeen(connector, request, scan.seen())
  }
}

const OBJECT_START = /^[\t\n\r ]*\{/

/** Bytes of the longest name with its quotes. */
const LONGEST_NAME = 64

/** Letters as escapes, the two that fold to ASCII from elsewhere (long s, Kelvin sign), other encodings. */
const DISGUISES: readonly RegExp[] = [/\\u(?:00[2-7]|017f|212a)/i, /\xc5\xbf/, /\xe2\x84\xaa/, /\0/]

/** For Latin-1 text of UTF-8. One pattern each: V8 searches for them several times faster than for alternatives. */
type Patterns = {
  /** Nothing in a body without a match can be taken for one of the keys, by a lenient parser neither. */
  readonly word: readonly RegExp[]
  /** The same for keys in quotes: text has the words of keys too. */
  readonly key: readonly RegExp[]
}

const made = new WeakMap<readonly string[], Patterns>()

/** The same few lists of keys come with every request. */
function patternsOf(keys: readonly string[]): Patterns {
  const known = made.get(keys)
  if (known !== undefined) return known
  const patterns = {
    word: [...keys.map((key) => new RegExp(key, 'i')), ...DISGUISES],
    key: [...keys.map((key) => new RegExp(`["']${key}["']`, 'i')), ...DISGUISES],
  }
  made.set(keys, patterns)
  return patterns
}

function isFound(patterns: readonly RegExp[], text: string): boolean {
  return patterns.some((pattern) => pattern.test(text))
}
