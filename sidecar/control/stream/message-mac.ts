import { createHmac, timingSafeEqual } from 'node:crypto'
import type { DownMessage } from '../../../core/wire/gateway/sync.ts'
import { beatMacText, sectionIndexMacText } from '../../../core/wire/gateway/sync-mac.ts'
import { sha256 } from '../../../runtime/sha256.ts'

/** Verifies that a section index or heartbeat comes from the control plane that enrolled this gateway. */
export type MacCheck = (message: Extract<DownMessage, { type: 'sections' | 'beat' }>) => boolean

export function createMacCheck(token: string): MacCheck {
  const key = sha256(`sync:${token}`)
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
