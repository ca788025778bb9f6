import type { RecordAction } from '../record.ts'

/** Returns one action of a record with its effect, target and effect classes, as pages and exports show it. */
export function recordActionText({ type, target, effect, effects = [] }: RecordAction): string {
  const place = target === null ? '' : `, ${target}`
  return `${type}: ${effect}${place}${effects.length === 0 ? '' : ` (${effects.join(', ')})`}`
}
