import { describe, expect, test } from 'vitest'
import { connected, firstPending, hold, never, until } from './hold-world.ts'

describe('a held request', () => {
  test('passes once it is approved, and the approval is spent', async () => {
    await using world = await connected()
    const outcome = world.control.holds.wait(hold(), never())
    await until('hold', () => world.fake.pendingHolds().length === 1)
    expect(world.control.holds.waiting).toBe(1)
    const id = firstPending(world)
    world.fake.respond(id, 'approved')
    expect(await outcome).toEqual({ kind: 'approved', approvalId: id, by: 'ada@example.com' })
    expect(world.fake.holds.get(id)?.isSpent).toBe(true)
    await until('end', () => world.control.holds.waiting === 0)
  })

  test.each(['denied', 'cancelled', 'expired'] as const)(
    'ends when it is %s, and nothing is spent',
    async (status) => {
      await using world = await connected()
      const outcome = world.control.holds.wait(hold(), never())
      await until('hold', () => world.fake.pendingHolds().length === 1)
      const id = firstPending(world)
      world.fake.respond(id, status)
      expect(await outcome).toEqual({ kind: status, approvalId: id, note: 'because' })
      expect(world.fake.spends).toBe(0)
    },
  )

  test('of an execution is refused at once with its approval, and nothing waits or is spent', async () => {
    await using world = await connected()
    world.fake.isDeferring = true
    const outcomes = await Promise.all([1, 2].map(() => world.control.holds.wait(hold(), never())))
    const id = firstPending(world)
    for (const outcome of outcomes) expect(outcome).toEqual({ kind: 'deferred', approvalId: id })
    await until('end', () => world.control.holds.waiting === 0)
    world.fake.respond(id, 'approved')
    expect([world.fake.holdPosts, world.fake.spends]).toEqual([1, 0])
  })

  test('identical concurrent requests are one card, and one release lets exactly one pass', async () => {
    await using world = await connected()
    const passed: string[] = []
    const all = [1, 2, 3].map(() =>
      world.control.holds.wait(hold(), never()).then((outcome) => void passed.push(outcome.kind)),
    )
    await until('hold', () => world.fake.pendingHolds().length === 1)
    expect(world.fake.holdPosts).toBe(1)
    for (const n of [1, 2, 3]) {
      const id = firstPending(world)
      world.fake.respond(id, 'approved')
      await until(`release ${n}`, () => passed.length === n)
      if (n < 3) await until('held anew', () => world.fake.pendingHolds().length === 1)
    }
    await Promise.all(all)
    expect(passed).toEqual(['approved', 'approved', 'approved'])
    expect([...world.fake.holds.values()].filter(({ isSpent }) => isSpent)).toHaveLength(3)
  })

  test('a release lets the latest request pass: a client may have abandoned earlier attempts silently', async () => {
    await using world = await connected()
    const passed: number[] = []
    const wait = (n: number) =>
      void world.control.holds.wait(hold(), never()).then(
        () => passed.push(n),
        () => undefined,
      )
    wait(1)
    await until('hold', () => world.fake.pendingHolds().length === 1)
    wait(2)
    world.fake.respond(firstPending(world), 'approved')
    await until('release', () => passed.length === 1)
    expect(passed).toEqual([2])
  })

  test('an approval that another request has spent does not let it pass: it is held again', async () => {
    await using world = await connected()
    const outcome = world.control.holds.wait(hold(), never())
    await until('hold', () => world.fake.pendingHolds().length === 1)
    const first = firstPending(world)
    const taken = world.fake.holds.get(first)
    if (taken !== undefined) taken.isSpent = true
    world.fake.respond(first, 'approved')
    await until('new hold', () => world.fake.pendingHolds().length === 1)
    const second = firstPending(world)
    expect(second).not.toBe(first)
    world.fake.respond(second, 'approved')
    expect(await outcome).toMatchObject({ kind: 'approved', approvalId: second })
  })

  test('reports the departure once the last waiting request is gone, and not before', async () => {
    await using world = await connected()
    world.fake.leaveFailures = 2
    const clients = [1, 2, 3].map(() => new AbortController())
    const gone = clients.map((client) => world.control.holds.wait(hold(), client.signal))
    await until('hold', () => world.fake.pendingHolds().length === 1)
    const id = firstPending(world)
    const asker = world.fake.holds.get(id)?.body.asker ?? ''
    clients[0]?.abort()
    clients[1]?.abort()
    await Promise.all(gone.slice(0, 2))
    expect(world.control.holds.waiting).toBe(1)
    clients[2]?.abort()
    await until('report', () => world.fake.leaves.length === 1)
    expect(world.fake.leaves).toEqual([{ id, binding: 'b1', asker }])
    expect(asker).not.toBe('')
  })

  test('a retried request waits under another asker id, so that a late departure report of the first does not affect it', async () => {
    await using world = await connected()
    const first = new AbortController()
    const gone = world.control.holds.wait(hold(), first.signal)
    await until('hold', () => world.fake.pendingHolds().length === 1)
    first.abort()
    await gone
    const again = world.control.holds.wait(hold(), never())
    await until('report', () => world.fake.leaves.length === 1 && world.fake.askers.length === 2)
    expect(world.fake.askers[1]).not.toBe(world.fake.leaves[0]?.asker)
    world.fake.respond(firstPending(world), 'approved')
    expect(await again).toMatchObject({ kind: 'approved' })
  })

  test.each(['approved', 'denied', 'expired', 'cancelled'] as const)(
    'reports nothing when it was %s',
    async (status) => {
      await using world = await connected()
      const outcome = world.control.holds.wait(hold(), never())
      await until('hold', () => world.fake.pendingHolds().length === 1)
      world.fake.respond(firstPending(world), status)
      await outcome
      await until('end', () => world.control.holds.waiting === 0)
      // The next call is behind a report that would have been sent.
      const client = new AbortController()
      const gone = world.control.holds.wait(hold('b2'), client.signal)
      await until('hold', () => world.fake.pendingHolds().length === 1)
      client.abort()
      await gone
      await until('report', () => world.fake.leaves.length > 0)
      expect(world.fake.leaves.map(({ binding }) => binding)).toEqual(['b2'])
    },
  )

  test('an approval that was granted while no request waited is used by the retry', async () => {
    await using world = await connected()
    const client = new AbortController()
    const gone = world.control.holds.wait(hold(), client.signal)
    await until('hold', () => world.fake.pendingHolds().length === 1)
    const id = firstPending(world)
    client.abort()
    expect(await gone).toMatchObject({ kind: 'aborted' })
    await until('nobody waits', () => world.control.holds.waiting === 0)
    world.fake.respond(id, 'approved')
    expect(await world.control.holds.wait(hold(), never())).toMatchObject({
      kind: 'approved',
      approvalId: id,
    })
    expect(world.fake.holds.size).toBe(1)
  })

  test('a request whose client has disconnected creates no approval', async () => {
    await using world = await connected()
    expect(await world.control.holds.wait(hold(), AbortSignal.abort())).toEqual({
      kind: 'aborted',
      approvalId: null,
    })
    expect(world.fake.holdPosts).toBe(0)
  })

  test('it keeps waiting while the control plane restarts, and finds a verdict that it missed', async () => {
    await using world = await connected()
    const outcome = world.control.holds.wait(hold(), never())
    await until('hold', () => world.fake.pendingHolds().length === 1)
    const id = firstPending(world)
    world.fake.dropStreams()
    world.fake.respond(id, 'approved', false)
    expect(await outcome).toMatchObject({ kind: 'approved', approvalId: id })
    expect(world.fake.holdPosts).toBe(1)
  })

  test('a denial that was missed ends it without a second card', async () => {
    await using world = await connected()
    const outcome = world.control.holds.wait(hold(), never())
    await until('hold', () => world.fake.pendingHolds().length === 1)
    const id = firstPending(world)
    world.fake.dropStreams()
    world.fake.respond(id, 'denied', false)
    expect(await outcome).toMatchObject({ kind: 'denied', approvalId: id })
    expect(world.fake.holds.size).toBe(1)
  })

  test('an approval that a kill switch cancelled during a disconnect is not released after the reconnect', async () => {
    await using world = await connected()
    const outcome = world.control.holds.wait(hold(), never())
    await until('hold', () => world.fake.pendingHolds().length === 1)
    const id = firstPending(world)
    world.fake.dropStreams()
    world.fake.respond(id, 'approved', false)
    world.fake.respond(id, 'cancelled', false)
    expect(await outcome).toMatchObject({ kind: 'cancelled', approvalId: id })
    expect(world.fake.holds.get(id)?.isSpent).toBe(false)
    expect(world.fake.holds.size).toBe(1)
  })

  test('an approval that reached the gateway and was cancelled before it was used is not released', async () => {
    await using world = await connected()
    const outcome = world.control.holds.wait(hold(), never())
    await until('hold', () => world.fake.pendingHolds().length === 1)
    const id = firstPending(world)
    const stored = world.fake.holds.get(id)
    if (stored !== undefined) stored.status = 'cancelled'
    const at = new Date().toISOString()
    world.control.holds.verdict({ id, status: 'approved', by: 'ada@example.com', via: 'cli', at, note: null })
    expect(await outcome).toMatchObject({ kind: 'cancelled', approvalId: id })
    expect(world.fake.spends).toBe(1)
  })

  test('an approval that the control plane no longer has is created again', async () => {
    await using world = await connected()
    const outcome = world.control.holds.wait(hold(), never())
    await until('hold', () => world.fake.pendingHolds().length === 1)
    world.fake.holds.clear()
    world.fake.dropStreams()
    await until('new hold', () => world.fake.pendingHolds().length === 1)
    world.fake.respond(firstPending(world), 'approved')
    expect(await outcome).toMatchObject({ kind: 'approved' })
  })

  test('is refused with 503 without a control plane', async () => {
    await using world = await connected()
    await world.fake.stop()
    const failure = await world.control.holds.wait(hold(), never()).catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'not_ready', options: { retryAfterS: 5 } })
    await until('end', () => world.control.holds.waiting === 0)
  })

  test('too many pending holds of one agent are refused with how long to wait', async () => {
    await using world = await connected()
    const client = new AbortController()
    const waits = Array.from({ length: 20 }, (_, n) => world.control.holds.wait(hold(`b${n}`), client.signal))
    await until('twenty', () => world.fake.pendingHolds().length === 20)
    const failure = await world.control.holds.wait(hold('b20'), never()).catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'too_many_holds', options: { retryAfterS: 7 } })
    client.abort()
    await Promise.all(waits)
  })

  test('a hold without an answer ends shortly after its expiry', async () => {
    await using world = await connected({ fake: { holdLifeMs: -4_900 } })
    expect(await world.control.holds.wait(hold(), never())).toMatchObject({ kind: 'expired' })
  })

  test('a hold without an answer whose credential expired too ends as expired, because no approval is left', async () => {
    await using world = await connected({ fake: { holdLifeMs: -4_900 } })
    const outcome = world.control.holds.wait(hold(), never(), () => 'The credential expired.')
    expect(await outcome).toMatchObject({ kind: 'expired', note: null })
    expect(world.fake.spends).toBe(0)
  })
})
