import { totalmem } from 'node:os'

/** Maximum body budget in bytes when no setting is given. */
const MAX_DEFAULT_BYTES = 1024 * 1024 * 1024

/**
 * Returns the budget in bytes for buffered request bodies: the setting, otherwise a quarter of the memory limit, at
 * most 1 GiB.
 */
export function bodyBudget(setting: number | null, limitBytes: number): number {
  return setting ?? Math.min(MAX_DEFAULT_BYTES, Math.floor(limitBytes / 4))
}

/** Returns the memory limit in bytes: that of the control group, otherwise the memory of the machine. */
export function memoryLimit(): number {
  const constrained = process.constrainedMemory()
  const all = totalmem()
  return constrained > 0 ? Math.min(constrained, all) : all
}
