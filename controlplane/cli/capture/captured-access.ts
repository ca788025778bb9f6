import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { hasMask, isMasked, type Mount, parseMounts } from './mounts.ts'
import { announcedPoints } from './starting-captures.ts'

/**
 * Reports whether a captured command that is running has access to the folder, because its capture started before the
 * folder was masked. Captures are those that the state folder of the user lists.
 *
 * @param folder Real path of the folder.
 */
export function isOpenToCaptured(folder: string, env: NodeJS.ProcessEnv): boolean {
  if (process.platform !== 'linux') return false
  const points = announcedPoints(env)
  if (points.size === 0) return false
  const captured = capturedMounts().filter((mounts) => mounts.some(({ point }) => points.has(point)))
  return captured.some((mounts) => !isMasked(folder, mounts))
}

/**
 * Returns the mounts of each captured command of this user. The first process of a captured command has the mounts of
 * the capture. The command cannot end this process or hide its mounts.
 */
function capturedMounts(): ReadonlyArray<readonly Mount[]> {
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
