import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import type { KillAnnouncement, KillEntry } from '../../../core/wire/gateway/kill.ts'
import type { Keyring } from '../../crypto/keyring.ts'

/**
 * Signs and verifies announcements of kill switches. Gateways relay announcements between replicas but are not trusted.
 * Every replica has the signing key; no gateway has it.
 */
export type KillProof = {
  /** Signs the kill switch. `id`: id of an announcement that a gateway relayed; absent for a new announcement. */
  announcementOf(entry: KillEntry, id?: string): KillAnnouncement
  isGenuine(announcement: KillAnnouncement): boolean
}

export function createKillProof(keyring: Pick<Keyring, 'derive'>): KillProof {
  const key = keyring.derive('announced kill switches')
  const proofOf = (id: string, { scope, source, reason, since }: KillEntry) =>
    createHmac('sha256', key)
      .update(JSON.stringify([id, scope, source, reason, since]))
      .digest()
  return {
    announcementOf(entry, id = randomUUID()) {
      return { id, entry, proof: proofOf(id, entry).toString('hex') }
    },
    isGenuine({ id, entry, proof }) {
      const expected = proofOf(id, entry)
      const given = Buffer.from(proof, 'hex')
      return given.length === expected.length && timingSafeEqual(given, expected)
    },
  }
}
