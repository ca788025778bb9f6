import { expect, test } from 'vitest'
import { createPeer } from '../../../controlplane/sync/peer.ts'
import { createPeerRegistry } from '../../../controlplane/sync/peer-registry.ts'
import { createSectionBroadcaster } from '../../../controlplane/sync/sections/broadcaster.ts'
import type { SectionLibrary } from '../../../controlplane/sync/sections/library.ts'
import type { SectionSet } from '../../../controlplane/sync/sections/sections.ts'

/** A library that is behind the database, whose readings end when the test lets them. */
function slowLibrary() {
  const stored = { version: 1, gateways: [] as string[] }
  let read = { version: 0, gateways: [] as readonly string[] }
  const readings: Array<() => void> = []
  const library: SectionLibrary = {
    get version() {
      return read.version
    },
    get order() {
      return { epoch: 1, revision: read.version }
    },
    configuration: null,
    reload() {
      const seen = { version: stored.version, gateways: [...stored.gateways] }
      return new Promise((resolve) => {
        readings.push(() => {
          read = seen
          resolve()
        })
      })
    },
    prepare: async () => undefined,
    of(gatewayId) {
      const { version, gateways } = read
      const set = { version, hashes: { version: String(version) }, texts: new Map() }
      return gateways.includes(gatewayId) ? (set as unknown as SectionSet) : null
    },
  }
  return { library, stored, readings }
}

/** Lets everything happen that waits for nobody. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

function world() {
  const { library, stored, readings } = slowLibrary()
  const peerRegistry = createPeerRegistry()
  const db = { query: async () => ({ rows: [{ epoch: 1, revision: stored.version }], rowCount: 1 }) } as never
  const clock = { nowMs: () => 0, monotonicMs: () => 0 }
  const freshness = { read: <T>(_: string, work: () => Promise<T>) => work(), isFresh: () => false }
  const cast = createSectionBroadcaster({
    db,
    peerRegistry,
    library,
    clock,
    freshness,
    raiseEpoch: async () => false,
  })
  const arrive = (gatewayId: string) => {
    const said: Array<{ readonly type: string }> = []
    const sink = {
      write: (text: string) => said.push(JSON.parse(text)) > 0,
      end: () => void said.push({ type: 'end' }),
      destroy() {},
      writableLength: 0,
      destroyed: false,
    }
    const peer = createPeer({
      ...{ gatewayId, name: gatewayId, processId: gatewayId, sink, nowMs: 0 },
      ...{ syncKey: new Uint8Array(32), onSlow() {} },
    })
    peerRegistry.add(peer)
    return { peer, types: () => said.map(({ type }) => type), greeted: cast.greet(peer) }
  }
  return { cast, library, stored, readings, arrive }
}

test('a gateway that connects while an older state is still being read is not rejected', async () => {
  const { cast, stored, readings, arrive } = world()
  stored.gateways.push('gw_first')
  stored.version = 2
  const older = cast.refresh()
  await settled()
  stored.gateways.push('gw_new')
  stored.version = 3
  const { greeted, types } = arrive('gw_new')
  await settled()
  readings[0]?.()
  await older
  expect(types()).toEqual([])
  await settled()
  readings[1]?.()
  await greeted
  expect(types()).toEqual(['sections'])
})

test('a gateway whose row is gone is sent away, whether it comes or is there', async () => {
  const { cast, stored, readings, arrive } = world()
  stored.gateways.push('gw_first')
  stored.version = 2
  const first = arrive('gw_first')
  await settled()
  readings[0]?.()
  await first.greeted
  expect(first.types()).toEqual(['sections'])
  stored.gateways.pop()
  stored.version = 3
  const refreshed = cast.refresh()
  await settled()
  readings[1]?.()
  await refreshed
  expect(first.types()).toEqual(['sections', 'goaway', 'end'])
  const unknown = arrive('gw_gone')
  await unknown.greeted
  expect(unknown.types()).toEqual(['goaway', 'end'])
})

test('a gateway is sent a change that a submitted action has read before the notification came', async () => {
  const { cast, library, stored, readings, arrive } = world()
  stored.gateways.push('gw_first')
  stored.version = 2
  const first = arrive('gw_first')
  await settled()
  readings[0]?.()
  await first.greeted
  stored.version = 3
  const read = library.reload()
  readings[1]?.()
  await read
  await cast.refresh()
  expect(first.types()).toEqual(['sections', 'sections'])
  await cast.refresh()
  expect(first.types()).toEqual(['sections', 'sections'])
})

test('each pass over the gateways begins with a read, also when submitted actions reload the library during passes', async () => {
  const events: string[] = []
  const state = { revision: 1 }
  const library = {
    get order() {
      return { epoch: 1, ...state }
    },
    reload: async () => undefined,
    prepare: async () => undefined,
    of: () => ({ version: state.revision, hashes: { version: String(state.revision) }, texts: new Map() }),
  } as unknown as SectionLibrary
  const peerRegistry = createPeerRegistry()
  const cast = createSectionBroadcaster({
    db: { query: async () => ({ rows: [library.order], rowCount: 1 }) } as never,
    peerRegistry,
    library,
    clock: { nowMs: () => 0, monotonicMs: () => 0 },
    raiseEpoch: async () => false,
    freshness: {
      read(_, work) {
        events.push('read')
        return work()
      },
      isFresh: () => true,
    },
  })
  const sink = {
    write(text: string) {
      events.push(JSON.parse(text).type)
      if (state.revision < 3) state.revision++
      return true
    },
    ...{ end() {}, destroy() {}, writableLength: 0, destroyed: false },
  }
  peerRegistry.add(
    createPeer({
      ...{ gatewayId: 'gw', name: 'gw', processId: 'p', sink, nowMs: 0 },
      ...{ syncKey: new Uint8Array(32), onSlow() {} },
    }),
  )
  await cast.refresh()
  expect(events).toEqual(['read', 'sections', 'read', 'sections', 'read', 'sections'])
})
