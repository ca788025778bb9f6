import type { StateOrder } from '../wire/gateway/kill.ts'

/** Reports whether state `a` precedes state `b`: by epoch, then by revision. */
export function isEarlier(a: StateOrder, b: StateOrder): boolean {
  return a.epoch === b.epoch ? a.revision < b.revision : a.epoch < b.epoch
}
