import type { AuditEntry } from '../../../../core/wire/audit.ts'
import { DENIAL_LABELS } from '../../labels/denial-labels.ts'

type Details = AuditEntry['details']

/**
 * Details of events that the list shows, in the order of their priority. When the label is empty, the list shows only
 * the value.
 */
const FIELDS: ReadonlyArray<readonly [name: string, label: string]> = [
  ['approved', ''],
  ['change', ''],
  ['name', ''],
  ['email', ''],
  ['connector', ''],
  ['permission', ''],
  ['pattern', ''],
  ['scope', ''],
  ['gateway', 'gateway'],
  ['reason', ''],
  ['note', 'note:'],
  ['decision', 'decision'],
  ['level', 'level'],
  ['fields', 'fields'],
  ['keys', 'keys'],
  ['to', 'to'],
  ['rules', 'rules:'],
  ['target', 'on'],
  ['host', ''],
  ['path', ''],
]
const SHOWN = 4
/** Details that the list omits, because the event type, the actor or the action already states them. */
const REDUNDANT: Readonly<Record<string, ReadonlySet<string>>> = {
  'user.login': new Set(['email']),
  'action.requested': new Set(['gateway', 'host', 'path']),
  'action.denied': new Set(['decision', 'gateway']),
  'action.allowed': new Set(['decision', 'gateway']),
  'action.pending_approval': new Set(['decision']),
}

/** Returns the most important details of an event as one line. */
export function eventFacts({ event_type, details }: AuditEntry): string {
  const redundant = REDUNDANT[event_type]
  return FIELDS.filter(([name]) => redundant?.has(name) !== true)
    .flatMap(([name, label]) => {
      const text = textOf(name, details)
      // Removes the full stop of a sentence, because the list continues after the sentence.
      const value = text.replace(/\.$/, '')
      return value === '' ? [] : [label === '' ? value : `${label} ${value}`]
    })
    .slice(0, SHOWN)
    .join(', ')
}

function textOf(name: string, details: Details): string {
  const value = details[name]
  if (value === null || value === undefined) return ''
  if (name === 'approved') return value === true ? 'approved' : 'denied'
  if (name === 'change') return String(value).replaceAll(/[._]/g, ' ')
  if (name === 'reason') return DENIAL_LABELS[String(value)] ?? String(value)
  if (Array.isArray(value))
    return value.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join(' ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}
