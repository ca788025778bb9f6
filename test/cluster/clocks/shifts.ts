const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Environment variable with the shifts of a process, separated by colons. */
export const SHIFTS_VARIABLE = 'CLOCK_SHIFTS_MS'

/** Sidecars: two thirds of the day of their certificate pass with the move. */
export const SIDECAR_SHIFTS_MS = `${-17 * HOUR_MS}:0`

/**
 * Operator: two thirds of the year of its certificate authority pass with the first move, and the ten minutes for which a new
 * one is only trusted with the second.
 */
export const OPERATOR_SHIFTS_MS = `${-250 * DAY_MS}:${-11 * MINUTE_MS}:0`

/**
 * Control plane: two thirds of the week of its server certificate pass with the first move. After it the clock is that of
 * the sidecars that start then.
 */
export const CONTROL_PLANE_SHIFTS_MS = `${-6 * DAY_MS}:${SIDECAR_SHIFTS_MS}`
