import type { Action } from '../../../core/action/action.ts'
import { nameSeen } from '../../../core/connectors/classify.ts'
import type { BoundConnector } from '../../../core/connectors/registry.ts'
import { createKeyScan, isPlainJson, type KeyScan } from '../../../core/request/body/body.ts'
import type { CanonicalRequest } from '../../../core/request/canonical.ts'
import { type Answered, type Journaled, setActions } from '../phases.ts'
import { type AnswerBudget, answerBudgetOf, type BudgetClock } from '../response/answer-budget.ts'
import type { ResponseStage } from '../response/response-stage.ts'
import { isSettledByBody, type ProvisionalClassification } from './provisional-classification.ts'

/**
 * Maximum number of bytes of a body scan. Most bodies that determine a candidate are shorter; a scan of a large upload
 * would cost more than forwarding it.
 */
const MAX_SCANNED = 256 * 1024

/**
 * Scans a streamed body for the key that determines the candidate, for the record only. The record names the strictest
 * candidate, unless the whole body was scanned and contains the key at most once. Returns null when the body does not
 * determine a candidate, and for a body that is not plain JSON.
 */
export function scanCandidates(exchange: Journaled, clock: BudgetClock): ResponseStage | null {
  const { connector, provisional, named, request } = exchange
  // The key scan supports only JSON in UTF-8 without a content encoding.
  const isReadable = isPlainJson(request.body)
  const isOpen = named !== undefined && isSettledByBody(named)
  return isOpen && connector !== undefined && provisional !== undefined && isReadable
    ? new CandidateScan(request, { bound: connector, provisional, budget: answerBudgetOf(exchange, clock) })
    : null
}

type ScanDeps = {
  readonly bound: BoundConnector
  readonly provisional: ProvisionalClassification
  readonly budget: AnswerBudget
}

class CandidateScan implements ResponseStage {
  readonly #request: CanonicalRequest
  readonly #bound: BoundConnector
  readonly #provisional: ProvisionalClassification
  readonly #budget: AnswerBudget
  readonly #patterns: Patterns
  /** Key scan of the body; null until a key appears. Most bodies contain no key. */
  #scan: KeyScan | null = null
  #seen = 0
  /** False when a body in one piece is not a JSON object. Servers differ in how they read such a body. */
  #isObject = true
  /** True when the part of the body beyond the scan limit contains a key name. */
  #isNamed = false
  /** True when the time budget was used up before the end of the body. */
  #isCut = false
  /** Last bytes of the searched text, because a key name may be split between two chunks. */
  #tail = ''

  constructor(request: CanonicalRequest, { bound, provisional, budget }: ScanDeps) {
    this.#request = request
    this.#budget = budget
    this.#bound = bound
    this.#provisional = provisional
    this.#patterns = patternsOf(provisional.keys)
  }

  sent(chunk: Buffer): void {
    this.#isCut ||= !this.#budget.run('candidates', chunk, () => this.#read(chunk))
  }

  #read(chunk: Buffer): void {
    const scanned = Math.max(0, Math.min(chunk.length, MAX_SCANNED - this.#seen))
    // Most bodies arrive in one piece and contain no key. A native search detects this faster than a scan.
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

  answered(exchange: Answered): void {
    const action = this.#settled()
    if (action === null) return
    setActions(exchange, { kind: 'actions', actions: [action] }, this.#provisional)
  }

  get #length(): number | undefined {
    return this.#request.body.length
  }

  /** Returns true when the text contains none of the keys. */
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
    if (!this.#isObject || this.#isCut) return null
    if (scan === null) return this.#seen > 0 ? unseen : null
    if (scan.isAmbiguous || this.#isNamed || !(scan.isClosed || this.#seen === this.#length)) return null
    return nameSeen(this.#bound, this.#request, scan.seen())
  }
}

const OBJECT_START = /^[\t\n\r ]*\{/

/** Number of bytes that cover the longest key name with its quotes. */
const LONGEST_NAME = 64

/**
 * Spellings that a parser could read as a key: escaped letters, the two characters that case folding maps to ASCII
 * (long s, Kelvin sign), and other encodings.
 */
const DISGUISES: readonly RegExp[] = [/\\u(?:00[2-7]|017f|212a)/i, /\xc5\xbf/, /\xe2\x84\xaa/, /\0/]

/**
 * Search patterns for UTF-8 bytes that are read as latin-1. There is one expression for each pattern, because V8
 * searches several expressions much faster than one with alternatives.
 */
type Patterns = {
  /** Key names without quotes. In a body without a match, even a lenient parser finds no key. */
  readonly word: readonly RegExp[]
  /** Key names in quotes, for text that may contain the same words in other places. */
  readonly key: readonly RegExp[]
}

const made = new WeakMap<readonly string[], Patterns>()

/**
 * Returns the patterns for these keys. The patterns are cached, because all requests use the same few lists of keys.
 */
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
