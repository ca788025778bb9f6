/** How long the daily cleanup keeps audit events and the traffic log. */
export type RetentionSettings = {
  /** Retention of audit events in days. Null means that the plan of the organisation sets the retention. */
  readonly auditRetentionDays: number | null
  /** Hours for which a day of the traffic log is kept after its end. */
  readonly trafficRetentionHours: number
}

const TRAFFIC_HOURS = 168

/** Reads the settings from environment variables. Each error names the variable, the problem and the value to set. */
export function readRetentionSettings(
  text: (name: 'AUDIT_RETENTION_DAYS' | 'TRAFFIC_RETENTION_HOURS') => string | null,
): RetentionSettings {
  return {
    auditRetentionDays: auditRetentionDays(text('AUDIT_RETENTION_DAYS')),
    trafficRetentionHours: trafficRetentionHours(text('TRAFFIC_RETENTION_HOURS') ?? String(TRAFFIC_HOURS)),
  }
}

function auditRetentionDays(value: string | null): number | null {
  if (value === null) return null
  if (/^[1-9]\d{0,5}$/.test(value)) return Number(value)
  throw new Error(
    `AUDIT_RETENTION_DAYS is "${value}": set it to a whole number of days, 1 or more, or leave it out`,
  )
}

function trafficRetentionHours(value: string): number {
  const hours = Number(value)
  if (/^\d{1,3}$/.test(value) && hours >= 1 && hours <= TRAFFIC_HOURS) return hours
  throw new Error(`TRAFFIC_RETENTION_HOURS is "${value}": set it to a number from 1 to ${TRAFFIC_HOURS}`)
}
