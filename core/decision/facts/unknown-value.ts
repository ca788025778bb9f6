/**
 * A fact that is present but has no value that conditions can use, for example because it is too large. CEL has no such
 * type, so a condition that reads it cannot be evaluated, and tightens.
 */
export const UNKNOWN: unique symbol = Symbol('unknown')
