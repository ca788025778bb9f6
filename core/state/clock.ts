/**
 * Clock that is passed as an argument. `nowMs` is epoch milliseconds. `monotonicMs` never decreases, and measures
 * durations.
 */
export type Clock = { nowMs(): number; monotonicMs(): number }
