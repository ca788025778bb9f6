import { ChaperoneError } from '../../core/errors.ts'

/**
 * Returns a text that explains why no request is forwarded, and what to change. `reason` is the error of the disk; null
 * when the journal is full.
 */
export function unavailableText(dir: string, reason: string | null): string {
  const cause = reason === null ? '' : ` (${reason})`
  return `The journal in ${dir} is full or cannot be written${cause}, so the gateway cannot record requests and forwards none. Free disk space, replace the volume, or restore the control plane, to which the journal uploads its records.`
}

export function journalUnavailable(dir: string, reason: string | null): ChaperoneError {
  return new ChaperoneError('journal_unavailable', { detail: unavailableText(dir, reason), retryAfterS: 5 })
}
