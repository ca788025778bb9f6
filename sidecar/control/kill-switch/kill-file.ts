import { randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import * as z from 'zod'
import { KillAnnouncement, KillEntry, StateOrder } from '../../../core/wire/gateway/kill.ts'
import { isErrno } from '../../journal/segments/errno.ts'

/**
 * Schema of the file with the kill state. The file keeps a kill switch active after a restart without a control plane.
 */
const KillFile = z.object({
  /**
   * Name of this gateway, as `namespace/name`. The name is stored, so that `gateway:X` scopes match before the control
   * plane has sent the name.
   */
  gateway: z.string(),
  /** Kill switches of the latest stored state of the control plane. */
  remote: z.array(KillEntry),
  /**
   * Position of `remote` in the order of states; null before the first state. An older state never lifts a kill switch,
   * not even after a restart.
   */
  order: StateOrder.nullable().default(null),
  /**
   * Kill switches that a replica broadcast, and for which no confirmation has arrived that the database stored them.
   */
  announced: z.array(KillAnnouncement).default([]),
  /** Ids of settled announcements: the control plane has since stored the kill switch, or a user has lifted it. */
  settled: z.array(z.string()).default([]),
  /** Kill switches activated on this gateway. */
  local: z.array(
    z.object({
      /** Last part of the announcement id. Files of earlier versions lack the field. */
      id: z.uuid().default(() => randomUUID()),
      scope: z.string(),
      reason: z.string(),
      since: z.string(),
      /**
       * Position, in the order of kill states, of the last state that may lack the kill switch while it is active.
       * Every later state contains the kill switch, or was stored after the kill switch was lifted. Absent until the
       * control plane has stored the kill switch; null when this gateway had received no state then, so that every
       * state counts as later.
       */
      forwardedAt: StateOrder.nullable().optional(),
    }),
  ),
})
export type KillFile = z.infer<typeof KillFile>

export function emptyKillFile(gateway: string, remote: readonly KillEntry[] = []): KillFile {
  return { gateway, remote: [...remote], order: null, announced: [], settled: [], local: [] }
}

/**
 * Reads the file. Returns null when it does not exist. Throws for an invalid file: the caller must then assume an
 * active kill switch.
 */
export function readKillFile(path: string): KillFile | null {
  try {
    return KillFile.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}

/**
 * Writes the kill state atomically and durably. A crash or a power loss during the call leaves the old or the new
 * state; after the call, only the new state.
 */
export function writeKillFile(path: string, state: KillFile): void {
  const folder = dirname(path)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(`${path}.new`, JSON.stringify(state), { mode: 0o600, flush: true })
  renameSync(`${path}.new`, path)
  syncFolder(folder)
}

/** Flushes the folder. Without the flush, a power loss may undo the rename of the file. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
