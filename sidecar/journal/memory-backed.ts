import { statfsSync } from 'node:fs'

/** Magic numbers of tmpfs and ramfs (statfs(2)). */
const IN_MEMORY: ReadonlySet<number> = new Set([0x01021994, 0x858458f6])

/** Returns true when the folder is on a file system in memory, where a flush does not survive a power loss. */
export function isMemoryBacked(dir: string): boolean {
  return IN_MEMORY.has(statfsSync(dir).type)
}
