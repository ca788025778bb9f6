import { expect, test } from 'vitest'
import { createAckBarriers } from '../../../controlplane/sync/kill-switch/ack-barriers.ts'
import { createKillViews } from '../../../controlplane/sync/kill-switch/views.ts'
import { createPeer } from '../../../controlplane/sync/peer.ts'
import { createPeerRegistry } from '../../../controlplane/sync/peer-registry.ts'
import { gatewaySource } from '../../../core/decision/kill-switch/kill-reach.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'

function connectedGateway() {
  const seqs: number[] = []
  const peerRegistry = createPeerRegistry()
  const peer = createPeer({
    ...{ gatewayId: 'gw_1', name: 'default/one', processId: 'proc_1', nowMs: 0 },
    ...{ syncKey: new Uint8Array(32), onSlow() {} },
    sink: {
      write: (text: string) => seqs.push(JSON.parse(text).seq) > 0,
      end() {},
      destroy() {},
      writableLength: 0,
      destroyed: false,
    },
  })
  peerRegistry.add(peer)
  const barriers = createAckBarriers({
    views: () => () => ({ name: 'nothing', effective: [], state: undefined }),
    peerRegistry,
    processRegistry: { elsewhere: () => [], awayCount: () => 0 },
    clock: { nowMs: () => 1_000, monotonicMs: () => performance.now() },
  })
  return { peer, barriers, seqs }
}

test('an acknowledgement of another replica, whose clock is ahead, acknowledges no kill switch of this one', async () => {
  const { peer, barriers, seqs } = connectedGateway()
  const barrier = barriers.broadcast()
  barriers.ack(peer, 61_000)
  expect(await barrier.acknowledged(0)).toMatchObject({ acked: 0, total: 1 })
  expect(peer.killState).toBeNull()
  barriers.ack(peer, seqs[0] ?? 0)
  expect(await barrier.acknowledged(0)).toMatchObject({ acked: 1, total: 1 })
  expect(peer.killState).not.toBeNull()
})

test('an acknowledgement of a later message of this replica acknowledges the earlier ones', async () => {
  const { peer, barriers, seqs } = connectedGateway()
  const earlier = barriers.broadcast()
  barriers.send(peer)
  barriers.ack(peer, seqs[1] ?? 0)
  expect(await earlier.acknowledged(0)).toMatchObject({ acked: 1, total: 1 })
})

/** Three processes of each of 200 gateways, in four namespaces. */
function fleet(
  entries: readonly KillEntry[],
  agents: ReadonlyArray<{ gatewayId: string | null; name: string }>,
) {
  const peerRegistry = createPeerRegistry()
  const sent = new Map<string, KillEntry[]>()
  const count = { stored: 0 }
  const state = { stored: { order: { epoch: 1, revision: 1 }, entries }, agents }
  const views = createKillViews({
    kills: {
      stored: () => {
        count.stored++
        return state.stored
      },
      ...{ announced: () => [], settled: () => [] },
    },
    configuration: () => state as never,
  })
  const connect = (name: string, processId: string, agent: string | null = null) => {
    const sink = {
      write: (text: string) => sent.set(processId, JSON.parse(text).effective).size > 0,
      ...{ end() {}, destroy() {}, writableLength: 0, destroyed: false },
    }
    const peer = createPeer({
      ...{ gatewayId: `gw_${name}`, name, agent, processId, nowMs: 0, sink },
      ...{ syncKey: new Uint8Array(32), onSlow() {} },
    })
    peerRegistry.add(peer)
    return peer
  }
  const barriers = createAckBarriers({
    ...{ views, peerRegistry, processRegistry: { elsewhere: () => [], awayCount: () => 0 } },
    clock: { nowMs: () => 1_000, monotonicMs: () => 0 },
  })
  const sources = (processId: string) => sent.get(processId)?.map(({ source }) => source)
  return { barriers, connect, sent, sources, count, state }
}
const killSwitch = (source: string, scope = 'all'): KillEntry => ({
  ...{ source, scope, reason: 'incident', since: '2026-01-01T00:00:00Z' },
})

test('a barrier works out a kill state once for all processes that are sent it, however many there are', () => {
  const readsOf = (gateways: number) => {
    const { barriers, connect, count } = fleet([killSwitch('cli'), killSwitch(gatewaySource('ns/g0'))], [])
    for (let gateway = 0; gateway < gateways; gateway++)
      for (let at = 0; at < 50; at++) connect(`ns/g${gateway}`, `p${gateway}-${at}`)
    barriers.broadcast()
    return count.stored
  }
  // The first gateway has a kill switch of its own, so that there are two kill states.
  expect(readsOf(20)).toBe(readsOf(2))
})

test.each<[string, string, string | null, boolean]>([
  ['a gateway of the namespace', 'team/edge', null, true],
  ['a gateway that serves an agent of it', 'shared/edge', null, true],
  ['a gateway that serves none', 'other/edge', null, false],
  ['the sidecar of an agent of it, whatever its gateway', 'other/edge', 'team/bot', true],
  ['the sidecar of another agent of a gateway of it', 'team/edge', 'other/bot', true],
  ['the sidecar of an agent of another namespace', 'shared/edge', 'other/bot', false],
])('the ConfigMap of a namespace is sent to %s: %s %s %s', (_, name, agent, isSent) => {
  const agents = [{ gatewayId: 'gw_shared/edge', name: 'team/bot' }]
  const { barriers, connect, sources } = fleet(
    [killSwitch('configmap:team'), killSwitch('configmap')],
    agents,
  )
  connect(name, 'p', agent)
  barriers.broadcast()
  expect(sources('p')?.toSorted()).toEqual(isSent ? ['configmap', 'configmap:team'] : ['configmap'])
})

test('an agent of no gateway in particular is served by all; without a configuration all is sent', () => {
  const { barriers, connect, sources, state } = fleet(
    [killSwitch('configmap:team')],
    [{ gatewayId: null, name: 'team/bot' }],
  )
  connect('other/edge', 'p')
  barriers.broadcast()
  expect(sources('p')).toEqual(['configmap:team'])
  Object.assign(state, { agents: [] })
  expect(
    createKillViews({
      kills: { stored: () => state.stored, announced: () => [], settled: () => [] },
      configuration: () => null,
    })()({ gatewayId: 'gw', name: 'other/edge', agent: null }).effective,
  ).toHaveLength(1)
})

test('a gateway that begins to serve agents of a namespace is sent its ConfigMap, and no other gateway anything', () => {
  const world = fleet([killSwitch('configmap:team')], [])
  const [edge] = [world.connect('other/edge', 'p'), world.connect('other/second', 'q')]
  world.barriers.broadcast()
  expect([world.sources('p'), world.sources('q')]).toEqual([[], []])
  const before = edge.sentKill?.seq ?? 0
  world.sent.clear()
  const next = { ...world.state, agents: [{ gatewayId: 'gw_other/edge', name: 'team/bot' }] }
  const views = createKillViews({
    kills: { stored: () => next.stored, announced: () => [], settled: () => [] },
    configuration: () => next as never,
  })
  const peerRegistry = createPeerRegistry()
  peerRegistry.add(edge)
  createAckBarriers({
    ...{ views, peerRegistry, processRegistry: { elsewhere: () => [], awayCount: () => 0 } },
    clock: { nowMs: () => 2_000, monotonicMs: () => 0 },
  }).resend()
  expect([...world.sent.keys()]).toEqual(['p'])
  expect(world.sources('p')).toEqual(['configmap:team'])
  expect(edge.sentKill?.seq).toBeGreaterThan(before)
})

test('no kill state makes a line that gateways refuse, whatever its sources set', () => {
  const entries = Array.from({ length: 20_000 }, (_, at) => ({
    ...killSwitch(`configmap:ns${at % 3}`, `agent:ns${at % 3}/a${at}`),
    reason: '\u0001'.repeat(1_000),
  }))
  const agents = [0, 1, 2].map((at) => ({ gatewayId: null, name: `ns${at}/a` }))
  const { barriers, connect, sent } = fleet(entries, agents)
  connect('other/edge', 'p')
  connect('other/edge', 'own', 'ns1/a')
  barriers.broadcast()
  expect(sent.get('p')?.map(({ scope }) => scope)).toEqual([
    'namespace:ns0',
    'namespace:ns1',
    'namespace:ns2',
  ])
  expect(sent.get('own')?.map(({ scope }) => scope)).toEqual(['namespace:ns1'])
})

test('of announcements so many are sent as gateways can give back, and none is missed', () => {
  const announced = Array.from({ length: 5_000 }, (_, at) => ({
    ...{ id: `id${at}`, entry: killSwitch('dashboard', `agent:a${at}`), proof: 'ab'.repeat(32) },
  }))
  const viewOf = createKillViews({
    kills: {
      stored: () => ({ order: { epoch: 1, revision: 1 }, entries: [] }),
      ...{ announced: () => announced, settled: () => [] },
    },
    configuration: () => null,
  })()
  const { state, effective } = viewOf({ gatewayId: 'g', name: 'a/b', agent: null })
  expect(JSON.stringify(state?.announced).length).toBeLessThan(300 * 1024)
  expect(effective).toHaveLength(5_000)
  expect(new Set(state?.stored.map(({ scope }) => scope))).toEqual(
    new Set(announced.map(({ entry }) => entry.scope)),
  )
})

test('long reasons of one caller displace no short announcement, and the scope all has a reserve', () => {
  const announced = Array.from({ length: 120 }, (_, at) => ({
    ...{ id: `long${at}`, proof: 'ab'.repeat(32) },
    entry: { ...killSwitch('api', `agent:a${at}`), reason: '\u0001'.repeat(2_000) },
  }))
  const short = { id: 'short', entry: killSwitch('dashboard', 'agent:other'), proof: 'ab'.repeat(32) }
  const all = {
    id: 'all',
    entry: { ...killSwitch('cli', 'all'), reason: 'r'.repeat(2_000) },
    proof: 'ab'.repeat(32),
  }
  const given = [...announced, short, all]
  const viewOf = createKillViews({
    kills: {
      stored: () => ({ order: { epoch: 1, revision: 1 }, entries: [] }),
      ...{ announced: () => given, settled: () => [] },
    },
    configuration: () => null,
  })()
  const { state } = viewOf({ gatewayId: 'g', name: 'a/b', agent: null })
  expect(state?.announced.map(({ id }) => id)).toEqual(expect.arrayContaining(['short', 'all']))
  expect(JSON.stringify(state?.announced).length).toBeLessThan(300 * 1024)
})
