import { nameSeen } from '../../core/connectors/classify.ts'
import { createKeyScan, type KeyScan } from '../../core/request/body.ts'
import type { Exchange } from './exchange.ts'

/** Watches a streamed body for the key that says which of the candidates it is, for the record only. */
export type CandidateScan = { push(chunk: Buffer): void; name(): void }

/** Enough for every body whose class is worth naming; a scan of a large upload would cost more than forwarding it. */
const MAX_SCANNED = 256 * 1024

export function scanCandidates(exchange: Exchange): CandidateScan | null {
  const { connector: bound, request, naming } = exchange
  if (exchange.isCandidateSet !== true) return null
  if (bound === undefined || request === undefined || naming === undefined) return null
  const { keys } = naming
  // Made when a key is in sight: most bodies never need it.
  let scan: KeyScan | null = null
  let left = MAX_SCANNED
  let isFirst = true
  return {
    push(chunk) {
      // Most bodies arrive in one piece and name no such key: a native search says so without a scan.
      const isWhole = isFirst && chunk.length === request.body.length
      isFirst = false
      if (left <= 0 || scan?.isDone === true || (isWhole && !namesOneOf(keys, chunk))) return
      scan ??= createKeyScan(keys)
      scan.push(chunk.length > left ? chunk.subarray(0, left) : chunk)
      left -= chunk.length
    },
    name() {
      const seen = scan?.seen()
      const action = seen === undefined ? naming.unseen : nameSeen(bound, request, seen)
      if (action !== null) exchange.actions = [action]
    },
  }
}

function namesOneOf(keys: readonly string[], chunk: Buffer): boolean {
  for (const key of keys) if (chunk.includes(`"${key}"`)) return true
  return false
}
