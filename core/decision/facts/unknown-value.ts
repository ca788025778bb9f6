/**
 * Marks a fact that is present but has no value for conditions, for example because the value is too large. CEL does
 * not support symbols, so a condition that reads the fact cannot be evaluated. Such a condition can only make a
 * decision stricter.
 */
export const UNKNOWN: unique symbol = Symbol('unknown')
