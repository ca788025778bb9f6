import { expect, test } from 'vitest'
import { keptOf } from '../../../controlplane/sync/kill-switch/views.ts'
import type { KillAnnouncement } from '../../../core/wire/gateway/kill.ts'

const MAX_BYTES = 256 * 1024

function announced(reason: string): readonly KillAnnouncement[] {
  return Array.from({ length: 300 }, (_, n) => ({
    ...{ id: `kill_${n}`, proof: '' },
    entry: { scope: `agent:a${n}`, source: 'dashboard', reason, since: '2026-01-01T00:00:00.000Z' },
  }))
}

test.each(['x', 'é', '停', '🛑'])(
  'announcements whose reasons consist of %s fill the limit in bytes',
  (one) => {
    const all = announced(one.repeat(1_000 / one.length))
    const kept = keptOf(all)
    const [size = 0] = all.map((each) => Buffer.byteLength(JSON.stringify(each)))
    const bytes = kept.reduce((sum, each) => sum + Buffer.byteLength(JSON.stringify(each)), 0)
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES)
    expect(bytes).toBeGreaterThan(MAX_BYTES - 2 * size)
  },
)
