import type { AuditEntry } from '../../../../core/wire/governance.ts'
import { DENIAL_LABELS } from '../../labels/denial-labels.ts'

type Details = AuditEntry['details']

/** What says most about an event, the most telling first; those without a label speak for themselves. */
const TELLING: ReadonlyArray<readonly [name: string, label: string]> = [
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
/** Said by the event's own name, or by the action beside it. */
const SILENT: Readonly<Record<string, ReadonlySet<string>>> = {
  'action.requested': new Set(['gateway', 'host', 'path']),
  'action.denied': new Set(['decision', 'gateway']),
  'action.allowed': new Set(['decision', 'gateway']),
  'action.pending_approval': new Set(['decision']),
}

/** The most telling details as one line of text. */
export function eventFacts({ event_type, details }: AuditEntry): string {
  const silent = SILENT[event_type]
  return TELLING.filter(([name]) => silent?.has(name) !== true)
    .flatMap(([name, label]) => {
      const text = textOf(name, details)
      return text === '' ? [] : [label === '' ? text : `${label} ${text}`]
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
