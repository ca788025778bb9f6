/**
 * Marks a fact that is present but has no value for conditions, for example because the value is too large. A condition
 * that reads it cannot be evaluated, because CEL does not support symbols. That can only make a decision stricter.
 */
export const UNKNOWN: unique symbol = Symbol('unknown')
