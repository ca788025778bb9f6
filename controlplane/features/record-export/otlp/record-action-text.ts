import type { RecordAction } from '../../../../core/record.ts'

/**
 * Returns the text of one action of a record: action type, effect, target and effect classes. The dashboard
 * shows the same text.
 */
export function recordActionText({ type, target, effect, effects = [] }: RecordAction): string {
  const place = target === null ? '' : `, ${target}`
  return `${type}: ${effect}${place}${effects.length === 0 ? '' : ` (${effects.join(', ')})`}`
}
