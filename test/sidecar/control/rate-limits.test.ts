import { describe, expect, test } from 'vitest'
import type { QuotaLeaseBody, QuotaLeaseReply } from '../../../core/wire/gateway/quota-lease.ts'
import { createRateLimits, type RateLimits } from '../../../sidecar/control/quota/rate-limits.ts'

const LIMIT = 120
const MINUTE = 60_000

/** Lends as the control plane does, by the clock of the test. */
class Ledger {
  nowMs = 0
  isAway = false
  asked: QuotaLeaseBody[] = []
  #spent: number[] = []
  readonly #lent = new Map<string, { slots: number; at: number }>()

  acquireLease(process: string, asked: QuotaLeaseBody): QuotaLeaseReply {
    const isRecent = (at: number) => at > this.nowMs - MINUTE
    this.asked.push(asked)
    this.#lent.delete(process)
    this.#spent = [...this.#spent, ...asked.used.map((age) => this.nowMs - age)].filter(isRecent)
    for (const [borrower, { at }] of this.#lent) if (!isRecent(at)) this.#lent.delete(borrower)
    const taken = [
      ...this.#spent,
      ...[...this.#lent.values()].flatMap(({ slots, at }) => Array(slots).fill(at)),
    ]
    const granted = Math.max(0, Math.min(asked.want, asked.per_minute - taken.length))
    if (granted > 0) this.#lent.set(process, { slots: granted, at: this.nowMs })
    const freed = taken.toSorted((a, b) => a - b)[taken.length - asked.per_minute] ?? this.nowMs - MINUTE
    return { granted, retry_after_ms: granted > 0 ? 0 : freed + MINUTE - this.nowMs }
  }
}

function processesOf(ledger: Ledger, count: number): readonly RateLimits[] {
  return Array.from({ length: count }, (_, n) =>
    createRateLimits({
      monotonicMs: () => ledger.nowMs,
      acquireLease: async (asked) => {
        if (ledger.isAway) throw new Error('away')
        return ledger.acquireLease(`p${n}`, asked)
      },
    }),
  )
}

const isTaken = async (rate: RateLimits, limit = LIMIT) => (await rate.take('bot', limit)).ok
const shareAll = (rates: readonly RateLimits[]) => {
  for (const rate of rates) rate.share([{ agent: 'bot', processes: rates.length }])
}

/** mulberry32: the same sequence every time. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

describe('the quota of an agent that several processes serve', () => {
  test('two processes at full demand use exactly the whole quota together, then wait', async () => {
    const ledger = new Ledger()
    const rates = processesOf(ledger, 2)
    shareAll(rates)
    let admitted = 0
    for (let n = 0; n < 2 * LIMIT; n++) admitted += (await isTaken(rates[n % 2] as RateLimits)) ? 1 : 0
    expect(admitted).toBe(LIMIT)
    const refused = await rates[0]?.take('bot', LIMIT)
    expect(refused).toEqual({ ok: false, retryAfterS: 60 })
    ledger.nowMs = 60_000
    expect(await isTaken(rates[1] as RateLimits)).toBe(true)
  })

  test.each([1, 2, 3, 4, 5])('no minute exceeds the quota, whatever the demand (seed %i)', async (seed) => {
    const random = seeded(seed)
    const ledger = new Ledger()
    const limit = 1 + Math.floor(random() * 40)
    const rates = processesOf(ledger, 3)
    shareAll(rates)
    const admitted: number[] = []
    for (let step = 0; step < 3_000; step++) {
      ledger.nowMs += random() < 0.1 ? random() * 20_000 : random() * 200
      const rate = rates[Math.floor(random() * rates.length)] as RateLimits
      if (random() < 0.02) await rate.close()
      if (await isTaken(rate, limit)) admitted.push(ledger.nowMs)
    }
    const worst = admitted.map((at, n) => admitted.slice(n).filter((later) => later < at + MINUTE).length)
    expect(Math.max(...worst)).toBeLessThanOrEqual(limit)
    expect(admitted.length).toBeGreaterThan(limit)
  })

  test('slots that one process releases are available to the other', async () => {
    const ledger = new Ledger()
    const [idle, busy] = processesOf(ledger, 2) as [RateLimits, RateLimits]
    shareAll([idle, busy])
    await isTaken(idle)
    let admitted = 0
    while (await isTaken(busy)) admitted++
    expect(admitted).toBe(LIMIT - 10)
    await idle.close()
    ledger.nowMs += 1_000
    while (await isTaken(busy)) admitted++
    expect(admitted).toBe(LIMIT - 1)
  })

  test('a lease is not used after ten seconds', async () => {
    const ledger = new Ledger()
    const [rate] = processesOf(ledger, 1) as [RateLimits]
    rate.share([{ agent: '*', processes: 2 }])
    await isTaken(rate)
    ledger.nowMs = 9_999
    expect(rate.take('bot', LIMIT)).toEqual({ ok: true })
    const asked = ledger.asked.length
    ledger.nowMs = 10_000
    expect(await isTaken(rate)).toBe(true)
    expect(ledger.asked).toHaveLength(asked + 1)
  })

  test('requests admitted alone count once the quota is shared, and for a minute after it is not', async () => {
    const ledger = new Ledger()
    const [first, second] = processesOf(ledger, 2) as [RateLimits, RateLimits]
    for (let n = 0; n < 100; n++) await isTaken(first)
    expect(ledger.asked).toEqual([])
    shareAll([first, second])
    await isTaken(first)
    let admitted = 0
    while (await isTaken(second)) admitted++
    expect(admitted).toBe(LIMIT - 110)
    second.share([])
    expect(await isTaken(second)).toBe(false)
    ledger.nowMs = MINUTE
    for (let n = 0; n < LIMIT; n++) expect(second.take('bot', LIMIT)).toEqual({ ok: true })
  })

  test('without the control plane each process counts alone and reports its usage afterwards', async () => {
    const ledger = new Ledger()
    const [rate, other] = processesOf(ledger, 2) as [RateLimits, RateLimits]
    shareAll([rate, other])
    ledger.isAway = true
    let admitted = 0
    while (await isTaken(rate)) admitted++
    expect(admitted).toBe(LIMIT)
    ledger.isAway = false
    ledger.nowMs = 1_000
    expect(await isTaken(rate)).toBe(false)
    expect(await isTaken(other)).toBe(false)
  })

  test('a limit too large for leases is divided', async () => {
    const ledger = new Ledger()
    const [rate] = processesOf(ledger, 1) as [RateLimits]
    rate.share([{ agent: 'bot', processes: 3 }])
    let admitted = 0
    while (await isTaken(rate, 30_000)) admitted++
    expect(admitted).toBe(10_000)
    expect(ledger.asked).toEqual([])
  })
})

test('each claim of an agent has the whole limit, without leases, and leaves that of the agent alone', async () => {
  const ledger = new Ledger()
  const [rate] = processesOf(ledger, 1)
  if (rate === undefined) throw new Error('no process')
  rate.share([{ agent: 'bot', processes: 3 }])
  const admitted = (claim: string) =>
    Array.from({ length: 5 }, () => rate.take('bot', 3, claim)).filter((taken) => 'ok' in taken && taken.ok)
      .length
  expect([admitted('team/alice'), admitted('team/bob'), admitted('team/alice')]).toEqual([3, 3, 0])
  expect(ledger.asked).toEqual([])
  expect(await isTaken(rate, 3)).toBe(true)
  ledger.nowMs = MINUTE
  expect(admitted('team/alice')).toBe(3)
})
