import { expect, test } from 'vitest'
import { createPeer } from '../../../controlplane/sync/peer.ts'
import { createPeerRegistry } from '../../../controlplane/sync/peer-registry.ts'
import { createSectionBroadcaster } from '../../../controlplane/sync/sections/broadcaster.ts'
import type { SectionLibrary } from '../../../controlplane/sync/sections/library.ts'
import { createSteadyClock } from '../../../controlplane/sync/steady-clock.ts'

const START = 1_800_000_000_000

test.each([-3_600_000, -1, 0, 3_600_000, -START])(
  'beats move forward by what has passed when the wall clock jumps by %d ms',
  async (jumpMs) => {
    const now = { wall: START, monotonic: 5_000 }
    const clock = createSteadyClock({ nowMs: () => now.wall, monotonicMs: () => now.monotonic })
    const peerRegistry = createPeerRegistry()
    const order = { epoch: 1, revision: 1 }
    const set = { version: 1, hashes: {}, texts: new Map() }
    const prepare = async () => undefined
    const library = {
      order,
      reload: async () => undefined,
      prepare,
      of: () => set,
    } as unknown as SectionLibrary
    const cast = createSectionBroadcaster({
      ...{ db: {} as never, peerRegistry, library, clock, raiseEpoch: async () => false },
      freshness: { read: (_, work) => work(), isFresh: () => true },
    })
    const beats: number[] = []
    const sink = {
      write(text: string) {
        const { type, until } = JSON.parse(text)
        if (type === 'beat') beats.push(Date.parse(until) - 30_000 - START)
        return true
      },
      ...{ end() {}, destroy() {}, writableLength: 0, destroyed: false },
    }
    const peer = createPeer({
      ...{ gatewayId: 'gw', name: 'gw', processId: 'p', sink, nowMs: START },
      ...{ syncKey: new Uint8Array(32), onSlow() {} },
    })
    peerRegistry.add(peer)
    await cast.greet(peer)
    for (let beat = 1; beat <= 3; beat++) {
      if (beat === 2) now.wall += jumpMs
      now.wall += 5_000
      now.monotonic += 5_000
      cast.beat()
    }
    expect(beats).toEqual([0, 5_000, 10_000, 15_000])
  },
)
