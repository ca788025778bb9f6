import type { StateOrder } from '../wire/gateway/kill.ts'

/** True if `a` precedes `b`. */
export function isEarlier(a: StateOrder, b: StateOrder): boolean {
  return a.epoch === b.epoch ? a.revision < b.revision : a.epoch < b.epoch
}
