import type { RecordAction } from '../../../../core/record.ts'

/** Returns one action of a record with its effect, target and effect classes; the dashboard shows the same text. */
export function recordActionText({ type, target, effect, effects = [] }: RecordAction): string {
  const place = target === null ? '' : `, ${target}`
  return `${type}: ${effect}${place}${effects.length === 0 ? '' : ` (${effects.join(', ')})`}`
}
