/**
 * Marks a fact that is present but has no value for conditions, for example because the value is too large. A
 * condition that reads it cannot be evaluated and tightens, because CEL does not support values of this type.
 */
export const UNKNOWN: unique symbol = Symbol('unknown')
