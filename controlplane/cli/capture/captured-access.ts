import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { hasMask, isMasked, parseMounts } from './mounts.ts'

/**
 * Reports whether a captured command that is running has access to the folder, because its capture started before the
 * folder was masked.
 *
 * @param folder Real path of the folder.
 */
export function isOpenToCaptured(folder: string): boolean {
  if (process.platform !== 'linux') return false
  return capturedMounts().some((mounts) => !isMasked(folder, mounts))
}

/**
 * Returns the mounts of each captured command of this user. The first process of a captured command has the mounts of
 * the capture. The command cannot end this process or hide its mounts.
 */
function capturedMounts() {
  const seen = new Set<string>()
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const namespace = readlinkSync(`/proc/${pid}/ns/mnt`)
        if (seen.has(namespace)) return []
        const mounts = parseMounts(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'))
        seen.add(namespace)
        return hasMask(mounts) ? [mounts] : []
      } catch (error) {
        // The process belongs to another user or has ended.
        if (error instanceof Error && 'code' in error) return []
        throw error
      }
    })
}
