import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { DownMessage } from '../../../core/wire/gateway/sync.ts'
import { beatMacText, sectionIndexMacText } from '../../../core/wire/gateway/sync-mac.ts'

/** Proves that a manifest or beat comes from the control plane that enrolled this gateway's token. */
export type MacCheck = (message: Extract<DownMessage, { type: 'sections' | 'beat' }>) => boolean

export function createMacCheck(token: string): MacCheck {
  const key = createHash('sha256').update(`sync:${token}`).digest()
  return (message) => {
    const text =
      message.type === 'sections'
        ? sectionIndexMacText(message.version, message.sections)
        : beatMacText(message.version, message.until)
    const expected = createHmac('sha256', key).update(text).digest()
    const given = Buffer.from(message.mac, 'hex')
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
}

export function sha256Hex(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
