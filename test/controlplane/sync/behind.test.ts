import { expect, test } from 'vitest'
import { createFreshness } from '../../../controlplane/sync/freshness.ts'
import { createKillBroadcaster } from '../../../controlplane/sync/kill-switch/broadcaster.ts'
import { createPeerRegistry } from '../../../controlplane/sync/peer-registry.ts'
import { createSectionBroadcaster } from '../../../controlplane/sync/sections/broadcaster.ts'
import type { SectionLibrary } from '../../../controlplane/sync/sections/library.ts'

/* A database that answers, with a state that is earlier than the one that this replica has read before. */
type Row = Record<string, unknown>
const STOP = { scope: 'all', source: 'api', reason: 'incident', since: new Date(0) }

function world() {
  const state = { epoch: 5, revision: 10, kills: [STOP] as Row[], isRaising: false }
  const query = async (text: string) => {
    const { epoch, revision, kills } = state
    const order = { epoch, revision }
    if (text.includes('audit_events')) return { rows: [], rowCount: 0 }
    if (!text.includes('kill_switches')) return { rows: [order], rowCount: 1 }
    const rows =
      kills.length === 0 ? [{ ...order, scope: null, source: null, reason: null, since: null }] : []
    return { rows: [...rows, ...kills.map((kill) => ({ ...order, ...kill }))], rowCount: 1 }
  }
  const db = { query } as never
  let now = 0
  const clock = { nowMs: () => now, monotonicMs: () => now }
  const freshness = createFreshness(clock)
  const peerRegistry = createPeerRegistry()
  const raiseEpoch = async () => {
    if (state.isRaising) state.epoch++
    return state.isRaising
  }
  const kill = createKillBroadcaster({
    library: { configuration: null },
    ...{ db, peerRegistry, clock, freshness, raiseEpoch },
    processRegistry: { elsewhere: () => [], awayCount: () => 0 },
    proof: {
      announcementOf: (entry) => ({ id: `id ${entry.scope}`, entry, proof: '' }),
      isGenuine: () => true,
    },
    log: { error: () => undefined },
  })
  let known = { epoch: 0, revision: 0 }
  const library = {
    get order() {
      return known
    },
    reload: async () => {
      known = { epoch: state.epoch, revision: state.revision }
    },
    of: () => null,
  } as unknown as SectionLibrary
  const configuration = createSectionBroadcaster({ db, peerRegistry, library, clock, freshness, raiseEpoch })
  return {
    ...{ state, kill, configuration, freshness },
    order: () => known,
    pass: (ms: number) => {
      now += ms
    },
  }
}

test.each([
  ['the same epoch', 5, 9],
  ['an earlier epoch', 4, 99],
  ['an earlier epoch and revision', 4, 1],
])(
  'a kill state of %s that is earlier is not taken and does not count as read',
  async (_, epoch, revision) => {
    const { state, kill, freshness, pass } = world()
    await kill.refresh()
    expect(freshness.isFresh()).toBe(true)
    Object.assign(state, { epoch, revision, kills: [] })
    for (let second = 0; second < 5; second++) {
      pass(2_000)
      await expect(kill.refresh()).rejects.toThrow(/earlier/)
    }
    expect(freshness.isFresh()).toBe(false)
    expect(kill.effective()).toHaveLength(1)
    Object.assign(state, { epoch: 5, revision: 11, kills: [STOP] })
    await kill.refresh()
    expect(freshness.isFresh()).toBe(true)
  },
)

test('a configuration that is earlier is not taken and does not count as read', async () => {
  const { state, configuration, freshness, pass, order } = world()
  await configuration.refresh()
  state.revision = 9
  for (let second = 0; second < 5; second++) {
    pass(2_000)
    await expect(configuration.refresh()).rejects.toThrow(/earlier/)
  }
  expect(freshness.isFresh()).toBe(false)
  expect(order()).toEqual({ epoch: 5, revision: 10 })
  state.isRaising = true
  await configuration.refresh()
  expect(order()).toEqual({ epoch: 6, revision: 9 })
  expect(freshness.isFresh()).toBe(true)
})

test('an earlier kill state in a new epoch is taken, and what it lacks is announced', async () => {
  const { state, kill, freshness } = world()
  await kill.refresh()
  Object.assign(state, { revision: 9, kills: [{ ...STOP, scope: 'agent:x' }], isRaising: true })
  const stored: string[] = []
  kill.onAdopted(({ entry }) => void stored.push(entry.scope))
  await kill.refresh()
  expect(freshness.isFresh()).toBe(true)
  expect(kill.effective().map(({ scope }) => scope)).toEqual(['agent:x', 'all'])
  expect(stored).toEqual(['all'])
})
