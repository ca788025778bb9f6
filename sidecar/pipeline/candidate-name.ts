import { nameSeen } from '../../core/connectors/classify.ts'
import { createKeyScan, type KeyScan } from '../../core/request/body.ts'
import type { BodyWatch } from '../upstream/outbound.ts'
import type { Exchange } from './exchange.ts'
import type { Naming } from './naming.ts'

/** Enough for every body whose class is worth naming; a scan of a large upload would cost more than forwarding it. */
const MAX_SCANNED = 256 * 1024

/** Watches a streamed body for the key that says which of the candidates it is, for the record only. */
export function scanCandidates(exchange: Exchange): BodyWatch | null {
  const { naming } = exchange
  return exchange.isCandidateSet === true && naming !== undefined ? new CandidateScan(exchange, naming) : null
}

class CandidateScan implements BodyWatch {
  readonly #exchange: Exchange
  readonly #naming: Naming
  /** Made when a key is in sight: most bodies never need it. */
  #scan: KeyScan | null = null
  #left = MAX_SCANNED
  #isFirst = true

  constructor(exchange: Exchange, naming: Naming) {
    this.#exchange = exchange
    this.#naming = naming
  }

  push(chunk: Buffer): void {
    // Most bodies arrive in one piece and name no such key: a native search says so without a scan.
    const isWhole = this.#isFirst && chunk.length === this.#exchange.request?.body.length
    this.#isFirst = false
    const { keys } = this.#naming
    if (this.#left <= 0 || this.#scan?.isDone === true || (isWhole && !namesOneOf(keys, chunk))) return
    this.#scan ??= createKeyScan(keys)
    this.#scan.push(chunk.length > this.#left ? chunk.subarray(0, this.#left) : chunk)
    this.#left -= chunk.length
  }

  answered(): void {
    const action = this.#found()
    if (action !== null) this.#exchange.actions = [action]
  }

  #found() {
    const { connector, request } = this.#exchange
    if (this.#scan === null) return this.#naming.unseen
    return connector === undefined || request === undefined
      ? null
      : nameSeen(connector, request, this.#scan.seen())
  }
}

/** Letters of a key may be written as escapes. */
function namesOneOf(keys: readonly string[], chunk: Buffer): boolean {
  if (chunk.includes('\\u00')) return true
  for (const key of keys) if (chunk.includes(`"${key}"`)) return true
  return false
}
