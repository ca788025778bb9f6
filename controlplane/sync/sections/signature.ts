import { createHmac } from 'node:crypto'
import type { StateOrder } from '../../../core/wire/gateway/kill.ts'
import type { DownMessage } from '../../../core/wire/gateway/sync.ts'
import { beatMacText, sectionIndexMacText } from '../../../core/wire/gateway/sync-mac.ts'
import type { SectionSet } from './sections.ts'

type SectionIndex = Extract<DownMessage, { type: 'sections' }>
type Beat = Extract<DownMessage, { type: 'beat' }>

/**
 * Signs the section index with HMAC. `syncKey`: SHA-256 of `sync:` and the token of the gateway or of the sidecar, 32
 * bytes.
 */
export function signSectionIndex(
  syncKey: Uint8Array,
  { version, hashes }: Pick<SectionSet, 'version' | 'hashes'>,
  order: StateOrder | null,
): SectionIndex {
  const mac = hmac(syncKey, sectionIndexMacText(version, hashes))
  return { type: 'sections', version, sections: { ...hashes }, mac, ...(order === null ? {} : { order }) }
}

/**
 * Signs a heartbeat. The heartbeat states that the control plane is at `version` and that the lease lasts until `until` (ISO
 * 8601).
 */
export function signBeat(syncKey: Uint8Array, version: number, until: string): Beat {
  return { type: 'beat', version, until, mac: hmac(syncKey, beatMacText(version, until)) }
}

function hmac(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex')
}
