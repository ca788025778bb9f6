/**
 * Clock that is passed as an argument. `nowMs` returns the Unix time in milliseconds. `monotonicMs` never decreases,
 * and measures durations in milliseconds.
 */
export type Clock = { nowMs(): number; monotonicMs(): number }
