import { describe, expect, test } from 'vitest'
import type { ControlWorld } from './control-world.ts'
import { connected, firstPending, hold, never, until } from './hold-world.ts'

const EXPIRED = 'The credential expired.'

/** A held request whose credential is expired while `problem` has a text. */
async function held(world: ControlWorld, signal = never()) {
  const state: { problem: string | null } = { problem: EXPIRED }
  const problem = () => state.problem
  const wait = () => world.control.holds.wait(hold(), signal, problem)
  const outcome = wait()
  await until('hold', () => world.fake.pendingHolds().length === 1)
  return { state, outcome, wait, id: firstPending(world) }
}

describe('a held request whose credential has expired', () => {
  test('does not spend its approval, which releases the next request', async () => {
    await using world = await connected()
    const { state, outcome, wait, id } = await held(world)
    world.fake.respond(id, 'approved')
    expect(await outcome).toEqual({ kind: 'unavailable', approvalId: id, note: EXPIRED })
    expect(world.fake.spends).toBe(0)
    expect(await wait()).toEqual({ kind: 'unavailable', approvalId: id, note: EXPIRED })
    state.problem = null
    expect(await wait()).toMatchObject({ kind: 'approved', approvalId: id })
    expect([world.fake.spends, world.fake.holds.size]).toEqual([1, 1])
  })

  test.each(['denied', 'cancelled', 'expired'] as const)(
    'ends when it missed that it was %s',
    async (kind) => {
      await using world = await connected()
      const { outcome, id } = await held(world)
      world.fake.dropStreams()
      world.fake.respond(id, kind, false)
      expect(await outcome).toMatchObject({ kind, approvalId: id })
      expect([world.fake.spends, world.fake.holds.size]).toEqual([0, 1])
    },
  )

  test('is refused when it missed its approval, which is not spent', async () => {
    await using world = await connected()
    const { outcome, id } = await held(world)
    world.fake.dropStreams()
    world.fake.respond(id, 'approved', false)
    expect(await outcome).toEqual({ kind: 'unavailable', approvalId: id, note: EXPIRED })
    expect(world.fake.spends).toBe(0)
  })

  test('stays held by a pending approval, and passes once both are there', async () => {
    await using world = await connected()
    const { state, outcome, id } = await held(world)
    world.fake.dropStreams()
    await until('read', () => world.fake.reads === 1)
    state.problem = null
    await until('connection', () => world.fake.streams === 1)
    world.fake.respond(id, 'approved')
    expect(await outcome).toMatchObject({ kind: 'approved', approvalId: id })
    expect(world.fake.spends).toBe(1)
  })

  test('passes when the credential is replaced while the state of the approval is read', async () => {
    await using world = await connected()
    const { state, outcome, id } = await held(world)
    world.fake.beforeRead = () => {
      state.problem = null
    }
    world.fake.respond(id, 'approved')
    expect(await outcome).toMatchObject({ kind: 'approved', approvalId: id })
    expect([world.fake.spends, world.fake.holds.size]).toEqual([1, 1])
  })

  test('ends as cancelled when its approval was cancelled after it reached the gateway', async () => {
    await using world = await connected()
    const { outcome, id } = await held(world)
    world.fake.respond(id, 'cancelled', false)
    const at = new Date().toISOString()
    world.control.holds.verdict({ id, status: 'approved', by: 'ada@example.com', via: 'cli', at, note: null })
    expect(await outcome).toMatchObject({ kind: 'cancelled', approvalId: id })
  })

  test('waits for another approval when another process has spent its own', async () => {
    await using world = await connected()
    const { outcome, id } = await held(world)
    const spent = world.fake.holds.get(id)
    if (spent !== undefined) spent.isSpent = true
    world.fake.respond(id, 'approved')
    await until('new hold', () => world.fake.pendingHolds().length === 1)
    const second = firstPending(world)
    world.fake.respond(second, 'denied')
    expect(await outcome).toMatchObject({ kind: 'denied', approvalId: second })
  })

  test('ends as expired at the deadline', async () => {
    await using world = await connected({ fake: { holdLifeMs: -4_500 } })
    const { outcome, id } = await held(world)
    expect(await outcome).toEqual({ kind: 'expired', approvalId: id, note: null })
  })

  test.each([EXPIRED, null])(
    'uses at the deadline an approval that it missed, if the credential is valid (%j)',
    async (problem) => {
      await using world = await connected({ fake: { holdLifeMs: -4_500 } })
      const { state, outcome, id } = await held(world)
      state.problem = problem
      world.fake.respond(id, 'approved', false)
      const kind = problem === null ? 'approved' : 'unavailable'
      expect(await outcome).toMatchObject({ kind, approvalId: id })
    },
  )

  test('is refused together with the identical requests, of which one uses the approval later', async () => {
    await using world = await connected()
    const { state, outcome, wait, id } = await held(world)
    const others = [wait(), wait()]
    world.fake.respond(id, 'approved')
    for (const each of [outcome, ...others])
      expect(await each).toEqual({ kind: 'unavailable', approvalId: id, note: EXPIRED })
    await until('end', () => world.control.holds.waiting === 0)
    state.problem = null
    const again = [wait(), wait()]
    expect(await Promise.race(again)).toMatchObject({ kind: 'approved', approvalId: id })
    await until('new hold', () => world.fake.pendingHolds().length === 1)
    world.fake.respond(firstPending(world), 'denied')
    await Promise.all(again)
    expect(world.fake.spends).toBe(1)
  })

  test.each(['disconnect', 'shutdown'] as const)(
    'ends at once at a %s while the state is read',
    async (what) => {
      await using world = await connected()
      const client = new AbortController()
      const { outcome, id } = await held(world, client.signal)
      const ended = outcome.catch((error: unknown) => error)
      world.fake.beforeRead = () => {
        if (what === 'disconnect') client.abort()
        else world.control.holds.failAll(new Error('stopping'))
      }
      world.fake.dropStreams()
      if (what === 'disconnect') expect(await ended).toEqual({ kind: 'aborted', approvalId: id })
      else expect(await ended).toEqual(new Error('stopping'))
      await until('end', () => world.control.holds.waiting === 0)
      if (what === 'disconnect') await until('report', () => world.fake.leaves.length === 1)
      expect([world.fake.spends, world.fake.holdPosts]).toEqual([0, 1])
    },
  )
})
