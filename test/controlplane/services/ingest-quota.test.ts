import { describe, expect, test } from 'vitest'
import { createIngestQuota } from '../../../controlplane/features/traffic/ingest-quota.ts'

const GATEWAY = { name: 'default/local', agent: null }
const sidecar = (agent: string) => ({ name: 'default/local', agent })

function quotaAt(): { now: number; quota: ReturnType<typeof createIngestQuota> } {
  const world = { now: 1_000_000, quota: createIngestQuota({ nowMs: () => 0 }) }
  world.quota = createIngestQuota({ nowMs: () => world.now, gatewayPerSecond: 100, sidecarPerSecond: 10 })
  return world
}

/** Seconds to wait; null when it was taken. */
function take(
  quota: ReturnType<typeof createIngestQuota>,
  owner: Parameters<typeof quota.take>[0],
  records: number,
) {
  try {
    quota.take(owner, records)
    return null
  } catch (error) {
    expect(error).toMatchObject({ code: 'rate_limited' })
    return (error as { options: { retryAfterS: number } }).options.retryAfterS
  }
}

describe('the ingest quota', () => {
  test('takes ten seconds at once, then what the rate allows', () => {
    const world = quotaAt()
    expect(take(world.quota, GATEWAY, 999)).toBeNull()
    expect(take(world.quota, GATEWAY, 500)).toBeNull()
    expect(take(world.quota, GATEWAY, 1)).toBe(5)
    world.now += 4_900
    expect(take(world.quota, GATEWAY, 1)).toBe(1)
    world.now += 200
    expect(take(world.quota, GATEWAY, 1)).toBeNull()
    expect(world.quota.refused.get('default/local')).toBe(2)
  })

  test('takes a batch of any size while something is left, so that none waits for ever', () => {
    const world = quotaAt()
    expect(take(world.quota, sidecar('bot'), 1_000)).toBeNull()
    const wait = take(world.quota, sidecar('bot'), 1_000) ?? 0
    world.now += wait * 1_000 + 1
    expect(take(world.quota, sidecar('bot'), 1_000)).toBeNull()
  })

  test('counts the sidecars of each agent apart, and apart from the Gateway', () => {
    const { quota } = quotaAt()
    expect(take(quota, sidecar('bot'), 500)).toBeNull()
    expect(take(quota, sidecar('bot'), 1)).not.toBeNull()
    expect(take(quota, sidecar('other'), 1)).toBeNull()
    expect(take(quota, GATEWAY, 1)).toBeNull()
    expect(take(quota, { name: 'default/local","bot', agent: null }, 1)).toBeNull()
  })

  test('an empty batch costs nothing, and a long silence saves no more than the burst', () => {
    const world = quotaAt()
    for (let n = 0; n < 50; n++) expect(take(world.quota, GATEWAY, 0)).toBeNull()
    world.now += 3_600_000
    expect(take(world.quota, GATEWAY, 1_000)).toBeNull()
    expect(take(world.quota, GATEWAY, 1)).toBe(1)
  })
})
