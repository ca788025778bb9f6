import { ChaperoneError } from '../../core/errors.ts'

/** Why nothing is forwarded, and what to change. `reason`: the error of the disk; null when it only is full. */
export function unavailableText(dir: string, reason: string | null): string {
  const cause = reason === null ? '' : ` (${reason})`
  return `The journal in ${dir} is full or cannot be written${cause}, and nothing is forwarded without a record. Free disk space or replace the volume, or bring the control plane back so that it takes the records.`
}

export function journalUnavailable(dir: string, reason: string | null): ChaperoneError {
  return new ChaperoneError('journal_unavailable', { detail: unavailableText(dir, reason), retryAfterS: 5 })
}
