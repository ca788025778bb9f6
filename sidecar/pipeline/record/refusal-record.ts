import type { TrafficRecord } from '../../../core/record.ts'
import type { RefusalRow } from '../../../core/state/refusal-windows.ts'
import { refusalsText } from '../../../core/state/refusals-text.ts'

/** Aggregate record in progress, with the fields that all its requests have in common. */
export type RefusalRecord = {
  readonly id: string
  readonly seq: number
  /** Common fields; null until the first request is finished. */
  common: TrafficRecord | null
  /** Action id; set when one of the refusals has an audit event. */
  actId: string | null
  /** Number of changes of the common fields. */
  revision: number
  /** True when the window of the aggregate record is closed. */
  isEnded: boolean
}

/** Adds a finished request to the aggregate record. */
export function addToRow(row: RefusalRecord, record: TrafficRecord): void {
  const before = row.common
  const after = before === null ? record : common(before, record)
  if (before === null || !isSame(before, after)) row.revision++
  row.common = after
}

/** Returns the current state of an aggregate record; null until its first request is finished. */
export function recordOfRow({ item, tally }: RefusalRow<RefusalRecord>): TrafficRecord | null {
  if (item.common === null) return null
  return {
    ...item.common,
    id: item.id,
    seq: item.seq,
    time: tally.first,
    act_id: item.actId,
    note: refusalsText(tally),
    refusals: { ...tally, targets: [...tally.targets] },
  }
}

const NULLABLE = [
  ...(['connector', 'action_type', 'would', 'reason', 'host', 'path', 'status', 'error_type'] as const),
  ...(['permission', 'snapshot_version'] as const),
] as const

/**
 * Optional fields that become null if the combined refusals differ in them. Equal values may be different objects.
 */
const OPTIONAL = [
  ...(['candidates', 'actions', 'action_count', 'action_details'] as const),
  ...(['function_tools', 'effects'] as const),
] as const

function common(row: TrafficRecord, record: TrafficRecord): TrafficRecord {
  const differing = [
    ...NULLABLE.filter((field) => row[field] !== record[field]),
    ...OPTIONAL.filter((field) => !isSameValue(row[field], record[field])),
  ]
  const hasSameRules = row.policies.join() === record.policies.join()
  return {
    ...row,
    ...Object.fromEntries(differing.map((field) => [field, null])),
    method: row.method === record.method ? row.method : '*',
    policies: hasSameRules ? row.policies : [],
    instance: row.instance === record.instance ? row.instance : null,
    why: row.why?.reason === record.why?.reason && hasSameRules ? row.why : null,
    bytes_in: row.bytes_in + record.bytes_in,
    bytes_out: row.bytes_out + record.bytes_out,
  }
}

function isSameValue(a: unknown, b: unknown): boolean {
  return a === b || (a != null && b != null && JSON.stringify(a) === JSON.stringify(b))
}

function isSame(a: TrafficRecord, b: TrafficRecord): boolean {
  return (
    NULLABLE.every((field) => a[field] === b[field]) &&
    OPTIONAL.every((field) => a[field] === b[field]) &&
    a.method === b.method &&
    a.policies === b.policies &&
    a.instance === b.instance &&
    a.why === b.why
  )
}
