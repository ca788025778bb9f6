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

function common(row: TrafficRecord, record: TrafficRecord): TrafficRecord {
  const differing = NULLABLE.filter((field) => row[field] !== record[field])
  const hasSameRules = row.policies.join() === record.policies.join()
  return {
    ...row,
    ...Object.fromEntries(differing.map((field) => [field, null])),
    method: row.method === record.method ? row.method : '*',
    policies: hasSameRules ? row.policies : [],
    actions: row.actions?.join() === record.actions?.join() ? row.actions : null,
    action_count: row.action_count === record.action_count ? row.action_count : null,
    action_details: isSameDetails(row, record) ? row.action_details : null,
    function_tools: row.function_tools === record.function_tools ? row.function_tools : null,
    effects: row.effects?.join() === record.effects?.join() ? row.effects : null,
    instance: row.instance === record.instance ? row.instance : null,
    candidates: row.candidates?.join() === record.candidates?.join() ? row.candidates : null,
    why: row.why?.reason === record.why?.reason && hasSameRules ? row.why : null,
    bytes_in: row.bytes_in + record.bytes_in,
    bytes_out: row.bytes_out + record.bytes_out,
  }
}

function isSameDetails({ action_details: a }: TrafficRecord, { action_details: b }: TrafficRecord): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

function isSame(a: TrafficRecord, b: TrafficRecord): boolean {
  return (
    NULLABLE.every((field) => a[field] === b[field]) &&
    a.method === b.method &&
    a.policies === b.policies &&
    a.instance === b.instance &&
    a.why === b.why
  )
}
