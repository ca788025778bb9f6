/** Time as an argument. `nowMs` is epoch milliseconds, `monotonicMs` never goes back and measures durations. */
export type Clock = { nowMs(): number; monotonicMs(): number }
