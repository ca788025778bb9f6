import { randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import * as z from 'zod'
import { KillAnnouncement, KillEntry, StateOrder } from '../../../core/wire/gateway/kill.ts'
import { isErrno } from '../../journal/segments/errno.ts'

/** What survives a restart without a control plane: a stopped gateway stays stopped. */
const KillFile = z.object({
  /** `namespace/name`, so that `gateway:X` scopes match before the control plane has said who we are. */
  gateway: z.string(),
  /** The latest stored state that the control plane sent. */
  remote: z.array(KillEntry),
  /** Where that state stands; null before the first one. An earlier state lifts nothing, after a restart either. */
  order: StateOrder.nullable().default(null),
  /** Stops that a replica broadcast and that are not known to be stored. */
  announced: z.array(KillAnnouncement).default([]),
  /** Ids of announcements that are stored or lifted since. */
  settled: z.array(z.string()).default([]),
  /** Set here: scope, reason, since. */
  local: z.array(
    z.object({
      /** The last part of the id of its announcement. Files of earlier versions have none. */
      id: z.uuid().default(() => randomUUID()),
      scope: z.string(),
      reason: z.string(),
      since: z.string(),
      /** The control plane has stored it, in a state later than this one. Left out: it does not know it yet. */
      forwardedAt: StateOrder.nullable().optional(),
    }),
  ),
})
export type KillFile = z.infer<typeof KillFile>

export function emptyKillFile(gateway: string, remote: readonly KillEntry[] = []): KillFile {
  return { gateway, remote: [...remote], order: null, announced: [], settled: [], local: [] }
}

/** `null` when there is none. A file that cannot be understood throws: the caller must then assume a stop. */
export function readKillFile(path: string): KillFile | null {
  try {
    return KillFile.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}

/** Atomic and durable: a crash or a power loss leaves the old or the new state, and after the return the new one. */
export function writeKillFile(path: string, state: KillFile): void {
  const folder = dirname(path)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(`${path}.new`, JSON.stringify(state), { mode: 0o600, flush: true })
  renameSync(`${path}.new`, path)
  syncFolder(folder)
}

/** Without it the rename may be lost with the power. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
