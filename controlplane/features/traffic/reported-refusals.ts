import type { TrafficRecord } from '../../../core/record.ts'
import { refusalsText } from '../../../core/state/refusals-text.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { IngestOwner } from './ingest-quota.ts'

/**
 * Bounds the influence of aggregate records on totals. A gateway reports the counts of these records itself, so a
 * compromised gateway could report any number.
 */
export type ReportedRefusals = {
  /**
   * Returns the records with bounded counts. The counts of one owner in one minute, together with the stored records,
   * cannot exceed the owner's ingest rate. A record that is not a refusal gets no count.
   */
  bounded(owner: IngestOwner, records: readonly TrafficRecord[]): readonly TrafficRecord[]
  /** Adds stored records to the counts of the owner. */
  stored(owner: IngestOwner, records: readonly TrafficRecord[]): void
  /** Returns the number of owners in the cache. */
  remembered(): number
}

const WINDOW_S = 60
/** Maximum number of minutes that are cached per owner. */
const MAX_MINUTES = 256
/** Maximum number of cached owners. The least recently used owner is evicted. */
const MAX_OWNERS = 10_000

export function createReportedRefusals(
  gatewayPerSecond: number = LIMITS.ingestGatewayPerSecond,
  sidecarPerSecond: number = LIMITS.ingestSidecarPerSecond,
): ReportedRefusals {
  const counted = new Map<string, Map<string, number>>()

  function minutesOf({ name, agent }: IngestOwner): Map<string, number> {
    const key = JSON.stringify([name, agent])
    const minutes = counted.get(key) ?? new Map<string, number>()
    counted.delete(key)
    counted.set(key, minutes)
    const [oldest] = counted.keys()
    if (counted.size > MAX_OWNERS && oldest !== undefined) counted.delete(oldest)
    return minutes
  }

  function add(minutes: Map<string, number>, minute: string, requests: number): void {
    const before = minutes.get(minute) ?? 0
    // Moves the minute to the end of the map, so that the first key is always the least recently used minute.
    minutes.delete(minute)
    minutes.set(minute, before + requests)
    const [oldest] = minutes.keys()
    if (minutes.size > MAX_MINUTES && oldest !== undefined) minutes.delete(oldest)
  }

  return {
    remembered: () => counted.size,
    bounded(owner, records) {
      if (!records.some(hasRefusals)) return records
      const limit = WINDOW_S * (owner.agent === null ? gatewayPerSecond : sidecarPerSecond)
      const stored = minutesOf(owner)
      const batch = new Map<string, number>()
      return records.map((record) => {
        if (!hasRefusals(record)) return record
        if (!isRefused(record)) return { ...record, refusals: null }
        const minute = minuteOf(record)
        const used = (stored.get(minute) ?? 0) + (batch.get(minute) ?? 0)
        const allowed = withAtMost(record, Math.max(1, limit - used))
        batch.set(minute, (batch.get(minute) ?? 0) + allowed.refusals.count)
        return allowed
      })
    },
    stored(owner, records) {
      const rows = records.filter(hasRefusals)
      if (rows.length === 0) return
      const minutes = minutesOf(owner)
      for (const row of rows) add(minutes, minuteOf(row), row.refusals.count)
    },
  }
}

type Row = TrafficRecord & { readonly refusals: NonNullable<TrafficRecord['refusals']> }

function hasRefusals(record: TrafficRecord): record is Row {
  return record.refusals !== null && record.refusals !== undefined
}

/** Returns whether the record is a refusal without a hold. Only these refusals are combined into aggregate records. */
function isRefused({ decision, approval_id }: TrafficRecord): boolean {
  return decision === 'DENY' && approval_id === null
}

function minuteOf({ time }: TrafficRecord): string {
  return new Date(time).toISOString().slice(0, 16)
}

function withAtMost(row: Row, limit: number): Row {
  const { refusals } = row
  if (refusals.count <= limit) return row
  const cut = (counts: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(counts).map(([key, count]) => [key, Math.min(count, limit)]))
  const bounded = {
    ...refusals,
    count: limit,
    distinct_targets: Math.min(refusals.distinct_targets, limit),
    reasons: cut(refusals.reasons),
    ...(refusals.actions === undefined ? {} : { actions: cut(refusals.actions) }),
  }
  const note = `${refusalsText(bounded)}; the gateway reported ${refusals.count}, more than its limit for this minute, so the rest is not counted`
  return { ...row, note, refusals: bounded }
}
