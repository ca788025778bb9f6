import { totalmem } from 'node:os'

/** Of a machine without limits the gateway takes no more by itself. */
const MOST_BY_DEFAULT = 1024 * 1024 * 1024

/** The budget of request bodies that are kept in memory: as set, else a quarter of the memory limit, at most 1 GiB. */
export function bodyBudget(setting: number | null, limitBytes: number): number {
  return setting ?? Math.min(MOST_BY_DEFAULT, Math.floor(limitBytes / 4))
}

/** Bytes that the process may have: the limit of its control group, else the memory of the machine. */
export function memoryLimit(): number {
  const constrained = process.constrainedMemory()
  const all = totalmem()
  return constrained > 0 ? Math.min(constrained, all) : all
}
