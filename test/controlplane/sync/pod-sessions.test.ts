import { afterEach, describe, expect, test } from 'vitest'
import type { SidecarPrincipal, TokenState } from '../../../controlplane/http/route.ts'
import { createPeer, type Peer } from '../../../controlplane/sync/peer.ts'
import { createPeerRegistry } from '../../../controlplane/sync/peer-registry.ts'
import { createPodSessions, type PodSessions } from '../../../controlplane/sync/pod-sessions.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Instance } from '../../../core/wire/gateway/instance.ts'
import { eventually } from '../../support/eventually.ts'

const REVIEW_MS = 300_000
let running: PodSessions | null = null
afterEach(() => {
  running?.[Symbol.dispose]()
  running = null
})

type Reviewer = (tokenId: string) => Promise<TokenState>

/** One session of a sidecar, and the time; tokens are reviewed by what `review` says then. */
function world(init: { review?: Reviewer } = {}) {
  const given = {
    review: init.review ?? (async () => 'valid' as const),
    deleted: new Set<string>(),
    withdrawn: new Set<string>(),
    ended: async (): Promise<void> => undefined,
    instances: async (): Promise<ReadonlyMap<string, Instance>> => new Map(),
  }
  let now = 0
  const asked: string[] = []
  const peerRegistry = createPeerRegistry()
  const lines: string[] = []
  const principal = (tokenId = 't1', podUid = 'uid-1', reviewAgeMs = 0): SidecarPrincipal => ({
    ...{ podUid, namespace: 'team', agent: { id: 'agent_1', name: 'team/bot' }, syncKey: Buffer.alloc(32) },
    ...{ tokenId, reviewAgeMs },
    review: async () => {
      asked.push(tokenId)
      return given.review(tokenId)
    },
  })
  const connect = (processId: string, sidecar: SidecarPrincipal | null): Peer => {
    const sink = {
      ...{ destroyed: false, writableLength: 0 },
      write: (text: string) => lines.push(text) > 0,
      end: () => void peerRegistry.remove(peer),
      destroy: () => void peerRegistry.remove(peer),
    }
    const pod = sidecar === null ? null : { sidecar, reviewedAtMs: now }
    const peer: Peer = createPeer({
      ...{ gatewayId: 'gw_1', name: 'team/gateway', processId, syncKey: Buffer.alloc(32), pod, sink },
      ...{ onSlow: () => undefined, nowMs: 0 },
    })
    peerRegistry.add(peer)
    return peer
  }
  const reasonOf = ({ podUid, gatewayId, namespace }: Bound) => {
    if (given.deleted.has(podUid)) return 'its pod is deleted'
    return given.withdrawn.has(`${gatewayId} ${namespace}`)
      ? 'its Gateway does not admit its namespace'
      : null
  }
  const sessions = createPodSessions({
    peerRegistry,
    pods: { ended: () => given.ended().then(() => reasonOf), instances: () => given.instances() },
    clock: { nowMs: () => now, monotonicMs: () => now },
    log: { info: () => undefined, debug: () => undefined },
    timing: { reviewMs: REVIEW_MS, checkMs: 5 },
  })
  running = sessions
  return {
    ...{ given, asked, peerRegistry, lines, sessions, connect, principal },
    isOpen: (processId: string) => peerRegistry.peers.has(processId),
    advance(ms: number) {
      now += ms
    },
    reviewedTimes: (times: number) => eventually('reviews', () => asked.length >= times || null),
  }
}

describe('a session of a sidecar', () => {
  test('is reviewed again every five minutes, and not before', async () => {
    const one = world()
    const peer = one.connect('p1', one.principal())
    one.advance(REVIEW_MS - 1)
    await one.sessions.refresh()
    expect(one.asked).toEqual([])
    one.advance(1)
    await one.reviewedTimes(1)
    await eventually('noted', () => peer.pod?.reviewedAtMs === REVIEW_MS || null)
    one.advance(REVIEW_MS)
    await one.reviewedTimes(2)
    expect(one.isOpen('p1')).toBe(true)
  })

  test('ends when the cluster rejects its token', async () => {
    const one = world({ review: async () => 'invalid' })
    one.connect('p1', one.principal())
    one.advance(REVIEW_MS)
    await eventually('ended', () => !one.isOpen('p1') || null)
    expect(one.lines).toEqual([])
  })

  test.each([
    ['does not answer', new ChaperoneError('not_ready', { retryAfterS: 2 })],
    ['may not be asked', new ChaperoneError('not_ready', { detail: 'answered 403' })],
    ['breaks', new Error('socket hang up')],
  ])('goes on while the API server %s, and is asked about again', async (_what, error) => {
    const one = world({ review: () => Promise.reject(error) })
    one.connect('p1', one.principal())
    one.advance(REVIEW_MS * 20)
    await one.reviewedTimes(3)
    expect(one.isOpen('p1')).toBe(true)
    one.given.review = async () => 'invalid'
    await eventually('ended', () => !one.isOpen('p1') || null)
  })

  test('is opened anew where its token has expired: that says nothing about the pod', async () => {
    const one = world({ review: async () => 'stale' })
    one.connect('p1', one.principal())
    one.advance(REVIEW_MS)
    await eventually('ended', () => !one.isOpen('p1') || null)
    expect(one.lines.map((line) => JSON.parse(line))).toEqual([{ type: 'goaway', after_ms: 0 }])
  })

  test('adopts the token with which its process calls after a rotation, reviewed at that call', async () => {
    const one = world({ review: async () => 'valid' })
    one.connect('p1', one.principal())
    one.advance(REVIEW_MS - 1)
    one.sessions.seen({ processId: 'p1', gatewayId: 'gw_1', sidecar: one.principal('t2') })
    one.advance(REVIEW_MS)
    await one.reviewedTimes(1)
    expect(one.asked[0]).toBe('t2')
  })

  test.each([
    ['another pod', { podUid: 'uid-2' }],
    ['another gateway', { gatewayId: 'gw_2' }],
    ['no pod', { outside: true }],
    ['another process', { processId: 'p2' }],
  ])(
    'adopts nothing from %s',
    async (_what, { podUid, gatewayId = 'gw_1', outside, processId = 'p1' }: Caller) => {
      const one = world({ review: async () => 'valid' })
      const peer = one.connect('p1', one.principal())
      const sidecar = outside === true ? null : one.principal('t2', podUid)
      one.sessions.seen({ processId, gatewayId, sidecar })
      expect(peer.pod?.sidecar.tokenId).toBe('t1')
    },
  )

  test('a review of the old token that ends after the rotation ends nothing', async () => {
    const answer = Promise.withResolvers<TokenState>()
    const one = world({ review: () => answer.promise })
    one.connect('p1', one.principal())
    one.advance(REVIEW_MS)
    await one.reviewedTimes(1)
    one.sessions.seen({ processId: 'p1', gatewayId: 'gw_1', sidecar: one.principal('t2') })
    answer.resolve('invalid')
    await new Promise((resolve) => setImmediate(resolve))
    expect(one.isOpen('p1')).toBe(true)
  })

  test('ends with its pod, and no other session does', async () => {
    const one = world()
    one.connect('p1', one.principal())
    one.connect('p2', one.principal('t2', 'uid-2'))
    one.connect('p3', null)
    one.given.deleted = new Set(['uid-1', 'uid-9'])
    await one.sessions.refresh()
    expect([...one.peerRegistry.peers.keys()]).toEqual(['p2', 'p3'])
  })

  test('ends when its Gateway admits its namespace no more, also while the API server is silent', async () => {
    const one = world({ review: () => Promise.reject(new ChaperoneError('not_ready', { retryAfterS: 2 })) })
    one.connect('p1', one.principal())
    one.connect('p0', null)
    one.given.withdrawn.add('gw_1 other')
    await one.sessions.refresh()
    expect(one.isOpen('p1')).toBe(true)
    one.given.withdrawn.add('gw_1 team')
    await one.sessions.refresh()
    expect([one.isOpen('p1'), one.isOpen('p0')]).toEqual([false, true])
  })

  test('is reviewed although the reviews of others fail or do not end, and not all at once', async () => {
    let running = 0
    let most = 0
    const release = Promise.withResolvers<undefined>()
    const one = world({
      async review(tokenId) {
        running += 1
        most = Math.max(most, running)
        if (tokenId === 't0') await release.promise
        await new Promise((resolve) => setImmediate(resolve))
        running -= 1
        if (Number(tokenId.slice(1)) % 3 === 0) throw new Error('socket hang up')
        return tokenId === 't99' || tokenId === 't98' ? 'invalid' : 'valid'
      },
    })
    const peers = Array.from({ length: 100 }, (_, at) =>
      one.connect(`p${at}`, one.principal(`t${at}`, `uid-${at}`)),
    )
    one.advance(REVIEW_MS)
    await eventually('the rejected one ended', () => !one.isOpen('p98') || null)
    await one.reviewedTimes(100)
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(16)
    const reviewed = () => peers.filter(({ pod }) => pod?.reviewedAtMs === REVIEW_MS).length
    await eventually('all others reviewed', () => reviewed() === 65 || null)
    expect(one.peerRegistry.peers.size).toBe(99)
    release.resolve(undefined)
  })

  test('counts the age of the review with which a rotated token is adopted', async () => {
    const one = world()
    const peer = one.connect('p1', one.principal())
    one.advance(REVIEW_MS - 1)
    one.sessions.seen({
      processId: 'p1',
      gatewayId: 'gw_1',
      sidecar: one.principal('t2', 'uid-1', REVIEW_MS),
    })
    expect(peer.pod?.reviewedAtMs).toBe(-1)
    await one.reviewedTimes(1)
    expect(one.asked).toEqual(['t2'])
  })

  test('outside of a pod is never reviewed', async () => {
    const one = world({ review: async () => 'invalid' })
    one.connect('p0', null)
    one.connect('p1', one.principal())
    one.advance(REVIEW_MS * 2)
    await eventually('ended', () => !one.isOpen('p1') || null)
    expect(one.isOpen('p0')).toBe(true)
  })
})

describe('the instance of a sidecar', () => {
  const WARM: Instance = { pod: 'team/warm-1', pod_uid: 'uid-1', sandbox: 'team/warm-1' }
  const CLAIMED: Instance = { ...WARM, claim: 'team/alice', claim_uid: 'uid-claim' }
  const read = (instance: Instance) => new Map([['uid-1', instance]])
  const sent = (lines: readonly string[]) => lines.map((line) => JSON.parse(line).instance)

  test('is sent while the check of all sessions does not end', async () => {
    const one = world()
    one.connect('p1', one.principal())
    one.given.ended = () => new Promise(() => undefined)
    one.given.instances = async () => read(CLAIMED)
    void one.sessions.refresh()
    await eventually('the claim', () => one.lines.length === 1 || null)
    expect(sent(one.lines)).toEqual([CLAIMED])
  })

  test('keeps its claim when a read from before the claim ends after it', async () => {
    const one = world()
    const peer = one.connect('p1', one.principal())
    const older = Promise.withResolvers<ReadonlyMap<string, Instance>>()
    one.given.instances = () => older.promise
    const greeted = one.sessions.greet(peer)
    one.given.instances = async () => read(CLAIMED)
    await one.sessions.refresh()
    older.resolve(read(WARM))
    await greeted
    expect(sent(one.lines)).toEqual([CLAIMED])
  })

  test('is read once for all refreshes that arrive during a read', async () => {
    const one = world()
    one.connect('p1', one.principal())
    const first = Promise.withResolvers<ReadonlyMap<string, Instance>>()
    let reads = 0
    one.given.instances = async () => (++reads === 1 ? first.promise : read(CLAIMED))
    const refreshed = Array.from({ length: 20 }, () => one.sessions.refresh())
    first.resolve(read(WARM))
    await Promise.all(refreshed)
    expect(reads).toBe(2)
    expect(sent(one.lines)).toEqual([WARM, CLAIMED])
  })
})

type Bound = { readonly podUid: string; readonly gatewayId: string; readonly namespace: string }
type Caller = { podUid?: string; gatewayId?: string; outside?: boolean; processId?: string }
