import { describe, expect, test } from 'vitest'
import { buildSnapshot } from '../../../core/snapshot/build.ts'
import { createRateLimits } from '../../../sidecar/control/quota/rate-limits.ts'
import { identify } from '../../../sidecar/identity.ts'
import { agentEntry, emptySections, sha256 } from '../control/fake-control-plane.ts'

function snapshotOf(agents: readonly unknown[]) {
  const sections: Record<string, unknown> = { ...emptySections(), agents }
  const hashes = Object.fromEntries(
    Object.entries(sections).map(([name, value]) => [name, sha256(JSON.stringify(value))]),
  )
  return buildSnapshot({ version: 1, sections, hashes })
}
const basic = (text: string) =>
  ({ kind: 'basic', header: `Basic ${Buffer.from(text).toString('base64')}` }) as const

describe('the identity of a request', () => {
  const snapshot = snapshotOf([
    agentEntry('bot', 'k:ey'),
    agentEntry('team/keyless'),
    agentEntry('other', 'other-key'),
  ])

  test('is determined by name and key, also on the second request', () => {
    for (let n = 0; n < 2; n++) expect(identify(basic('bot:k:ey'), snapshot)?.id).toBe('agent_bot')
  })

  test.each([
    'bot:wrong',
    'bot:',
    'bot',
    ':k:ey',
    'nobody:k:ey',
    'bot:other-key',
    'team/keyless:',
    'team/keyless:null',
    '',
  ])('is not authenticated for %o', (text) => {
    expect(identify(basic(text), snapshot)).toBeNull()
  })

  test('is unknown without credentials or with another scheme', () => {
    expect(identify({ kind: 'none' }, snapshot)).toBeNull()
    expect(identify({ kind: 'basic', header: 'Bearer abc' }, snapshot)).toBeNull()
  })

  test('is determined by the port alone while the agent exists', () => {
    expect(identify({ kind: 'port', agent: 'team/keyless' }, snapshot)?.name).toBe('team/keyless')
    expect(identify({ kind: 'port', agent: 'gone' }, snapshot)).toBeNull()
  })

  test('a rotated key is invalid from the next snapshot on', () => {
    expect(identify(basic('bot:k:ey'), snapshot)).not.toBeNull()
    expect(identify(basic('bot:k:ey'), snapshotOf([agentEntry('bot', 'new')]))).toBeNull()
  })
})

describe('the rate limit', () => {
  test('is counted per agent, exactly', () => {
    let now = 0
    const acquireLease = () => Promise.reject(new Error('nobody is asked'))
    const rate = createRateLimits({ monotonicMs: () => now, acquireLease })
    const take = (agent: string) => rate.take(agent, 2)
    expect([take('a'), take('a'), take('a'), take('b')].map((taken) => 'ok' in taken && taken.ok)).toEqual([
      true,
      true,
      false,
      true,
    ])
    now = 59_999
    expect(rate.take('a', 2)).toEqual({ ok: false, retryAfterS: 1 })
    now = 60_000
    expect(rate.take('a', 2)).toEqual({ ok: true })
  })
})
