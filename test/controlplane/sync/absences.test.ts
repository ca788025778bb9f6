import { expect, test } from 'vitest'
import { createAbsences } from '../../../controlplane/sync/absences.ts'

const FACTS = { name: 'a/b', applied_version: 1, sent_version: 1, agents: 0, uptime_seconds: 1 }

test.each([
  ['ten minutes', 600],
  ['an hour', 3_600],
  ['two hours', 7_200],
  ['a day, the longest', 86_400],
  ['nothing', 0],
])('a process of a silent replica counts as unreachable until its lease of %s is over', (_, leaseS) => {
  let now = 0
  const absences = createAbsences({
    known: () => [
      {
        ...{ processId: 'p', gatewayId: 'g', replicaId: 'r', facts: FACTS, killState: null, heardMs: 0 },
        ...{ connectedS: 100, silentS: 0, awayS: 0, isSilent: true },
      },
    ],
    connected: () => new Set(),
    leaseMs: () => leaseS * 1_000,
    nowMs: () => now,
  })
  now = leaseS * 1_000 + 15_000
  expect(absences.count()).toBe(1)
  now += 1
  expect(absences.count()).toBe(0)
})
