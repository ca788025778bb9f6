import { expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { count } from '../support/proof.ts'
import type { FaultWorld } from './fault-world.ts'

/**
 * Waits until the control plane has a record of each forwarded call and of each answer that names a record, and checks
 * the ledgers. `isLossy`: the fault destroys parts of the journal, so each missing record must be reported as lost.
 */
export async function expectLedgers(
  world: FaultWorld,
  { isLossy }: { readonly isLossy: boolean },
): Promise<void> {
  expectNothingDeniedUpstream(world)
  expectHoldsReleasedOnce(world)
  if (isLossy) return expectLossesReported(world)
  await eventually('a record of each forwarded call', () => (unrecorded(world).length === 0 ? true : null))
  expectOneRecordEach(world)
  expect(lostNumbers(world)).toBe(0)
}

function targetsOf({ upstream }: FaultWorld): readonly string[] {
  return upstream.seen.map(({ target }) => target)
}

function expectNothingDeniedUpstream(world: FaultWorld): void {
  expect(targetsOf(world).filter((target) => target.startsWith('/denied/'))).toEqual([])
}

/** A hold is forwarded at most once, and only when it was approved and its approval was spent. */
function expectHoldsReleasedOnce(world: FaultWorld): void {
  const released = targetsOf(world).filter((target) => target.startsWith('/held/'))
  expect(new Set(released).size).toBe(released.length)
  const spent = [...world.fake.holds.values()].filter(({ isSpent }) => isSpent).map(({ body }) => body.path)
  expect(released.filter((target) => !spent.includes(target))).toEqual([])
}

/** Paths at the upstream and record ids of answers that have no record. */
function unrecorded(world: FaultWorld): readonly string[] {
  const paths = new Set(world.fake.records.map(({ path }) => path))
  const ids = new Set(world.fake.records.map(({ id }) => id))
  const named = world.load.answers.flatMap(({ recordId }) => recordId ?? [])
  return [...targetsOf(world).filter((path) => !paths.has(path)), ...named.filter((id) => !ids.has(id))]
}

/**
 * An upload may be repeated, with the same content. Each call has one record id and one sequence number. A result that
 * was stored before the journal was damaged may follow with the note `unknown`; the control plane keeps the first copy.
 */
function expectOneRecordEach({ fake, upstream }: FaultWorld): void {
  const byId = Map.groupBy(fake.records, ({ id }) => id)
  for (const [id, copies] of byId) {
    const contents = copies.filter(({ note }, n) => n === 0 || note !== 'unknown')
    expect(new Set(contents.map((copy) => JSON.stringify(copy))).size, `contents of record ${id}`).toBe(1)
  }
  const records = [...byId.values()].flatMap(([first]) => first ?? [])
  const forwarded = new Set(upstream.seen.map(({ target }) => target))
  const ids = count(
    records.filter(({ path }) => path !== null && forwarded.has(path)).map(({ path }) => path),
  )
  expect([...ids].filter(([, n]) => n > 1)).toEqual([])
  const numbers = count(records.map(({ process_id, seq }) => `${process_id} ${seq}`))
  expect([...numbers].filter(([, n]) => n > 1)).toEqual([])
}

async function expectLossesReported(world: FaultWorld): Promise<void> {
  await eventually('a report of each lost record', () =>
    unrecordedCalls(world) <= lostNumbers(world) ? true : null,
  )
  expectOneRecordEach(world)
}

function unrecordedCalls(world: FaultWorld): number {
  const paths = new Set(world.fake.records.map(({ path }) => path))
  return targetsOf(world).filter((path) => !paths.has(path)).length
}

function lostNumbers({ fake }: FaultWorld): number {
  const numbers = fake.lost.flatMap(({ process_id, from, to }) =>
    Array.from({ length: to - from + 1 }, (_, n) => `${process_id} ${from + n}`),
  )
  return new Set(numbers).size
}
