import type { Log } from '../process/log.ts'
import type { LineBuffer } from './line-buffer.ts'
import type { LostRanges } from './lost-ranges.ts'
import type { DamagedSegment } from './recovery/recover.ts'
import { lostLine } from './recovery/sequence-recovery.ts'
import type { Turn } from './turn.ts'

/**
 * Returns a function that counts, logs and writes the lost ranges of a damaged closed segment. The ranges are written
 * to the active segment, because the damaged segment is deleted after its upload.
 */
export function damageReport(to: {
  readonly lost: LostRanges
  readonly lines: LineBuffer
  readonly turn: Turn
  readonly log: Pick<Log, 'warn'>
}): (damage: DamagedSegment) => void {
  return ({ unknown, lost, tornAt }) => {
    to.lost.found(lost)
    to.lines.addText(lost.map(lostLine).join(''))
    to.turn.schedule()
    const found = { unknown: unknown.length, lost, tornAt }
    to.log.warn(
      found,
      'part of the journal is damaged; the records of the affected requests have no result, or are lost',
    )
  }
}
