import { expect, test } from 'vitest'
import { createKillRelay } from '../../../controlplane/features/kill-switch/relay.ts'
import { createReportedRefusals } from '../../../controlplane/features/traffic/reported-refusals.ts'
import type { TrafficRecord } from '../../../core/record.ts'

/* What names of gateways, agents and objects that come and go leave in memory. */
test('the relay of kill switches evicts a source once its revision no longer counts', async () => {
  let now = 0
  const applied: string[] = []
  const relay = createKillRelay({
    nowMs: () => now,
    killSwitch: {
      effective: () => [],
      async set({ source }) {
        applied.push(source)
        return {
          ok: true,
          active: true,
          scope: 'all',
          effective: [],
          acknowledged: { acked: 0, total: 0, ms: 0 },
        }
      },
    },
  })
  const offer = (source: string, revision: number) =>
    relay.apply({ source, scopes: ['all'], reason: 'r', by: 'kubernetes', revision })
  for (let at = 0; at < 1_000; at++) {
    now += 1_000
    await offer(`configmap:ns${at}`, 5)
    expect(relay.remembered()).toBeLessThanOrEqual(31)
  }
  expect((await offer('configmap:ns999', 4)).applied).toBe(false)
  // A source that is offered again and again keeps its place.
  for (let at = 0; at < 50; at++) {
    now += 1_000
    await offer('configmap:steady', 9)
    await offer(`configmap:other${at}`, 1)
  }
  expect((await offer('configmap:steady', 8)).applied).toBe(false)
  now += 30_000
  expect((await offer('configmap:steady', 8)).applied).toBe(true)
  expect(relay.remembered()).toBe(1)
})

const row = (count: number, minute = '2026-01-01T00:00:10.000Z') =>
  ({
    ...{ time: minute, decision: 'DENY', approval_id: null },
    refusals: { count, distinct_targets: 1, reasons: {}, targets: [] },
  }) as unknown as TrafficRecord

test('counted refusals are remembered of so many owners, and the one that was silent longest makes room', () => {
  const refusals = createReportedRefusals(10, 10)
  const steady = { name: 'ns/steady', agent: null }
  for (let at = 0; at < 20_000; at++) {
    refusals.stored({ name: 'ns/edge', agent: `ns/agent${at}` }, [row(1)])
    if (at % 5_000 === 0) refusals.stored(steady, [row(100)])
  }
  expect(refusals.remembered()).toBeLessThanOrEqual(10_000)
  expect(refusals.bounded(steady, [row(500)])[0]?.refusals?.count).toBe(200)
  expect(refusals.bounded({ name: 'ns/edge', agent: 'ns/agent0' }, [row(600)])[0]?.refusals?.count).toBe(600)
  expect(refusals.bounded({ name: 'ns/edge', agent: 'ns/agent19999' }, [row(600)])[0]?.refusals?.count).toBe(
    599,
  )
})
