import { expect, test } from 'vitest'
import { createRecentlyDisconnected } from '../../../controlplane/sync/processes/recently-disconnected.ts'
import { indexProcesses, type StoredProcess } from '../../../controlplane/sync/processes/stored-processes.ts'

const POD_A = 'pod:a'
const POD_B = 'pod:b'
const FACTS = { name: 'a/b', applied_version: 1, sent_version: 1, agents: 0, uptime_seconds: 1 }

function start(known: readonly Partial<StoredProcess>[] = []) {
  const there = new Set<string>()
  const disconnected = createRecentlyDisconnected({
    known: () => indexProcesses(known as readonly StoredProcess[], 'replica'),
    isConnected: (processId) => there.has(processId),
    leaseMs: () => 600_000,
    nowMs: () => 1_000_000,
  })
  const process = (processId: string, owner: string) => ({ gatewayId: 'gw', processId, owner })
  return {
    disconnected,
    leave: (id: string, owner: string) => disconnected.left(process(id, owner)),
    arrive(id: string, owner: string) {
      there.add(id)
      disconnected.arrived(process(id, owner))
    },
  }
}

test('a new process of a pod takes the place of the one before', () => {
  const { disconnected, leave, arrive } = start()
  leave('a1', POD_A)
  expect(disconnected.count()).toBe(1)
  arrive('a2', POD_A)
  expect([disconnected.count(), disconnected.unreported().replaced]).toEqual([0, ['a1']])
})

test('a new process of another pod of the gateway does not hide a disconnected process', () => {
  const { disconnected, leave, arrive } = start()
  leave('a1', POD_A)
  for (let n = 0; n < 10; n++) arrive(`b${n}`, POD_B)
  expect([disconnected.count(), disconnected.unreported().replaced]).toEqual([1, []])
})

test('nor does a process of the gateway outside of pods', () => {
  const { disconnected, leave, arrive } = start()
  leave('a1', POD_A)
  arrive('g1', 'gateway:gw')
  expect(disconnected.count()).toBe(1)
})

test.each([
  ['left and whose pod is gone is not counted', { isPodDeleted: true, isSilent: false }, 0],
  ['left and whose pod is there is counted', { isPodDeleted: false, isSilent: false }, 1],
  [
    'is connected to a silent replica is counted, whatever became of its pod',
    { isPodDeleted: true, isSilent: true },
    1,
  ],
])('a process that %s', (_what, changes, count) => {
  const row = { processId: 'a1', gatewayId: 'gw', owner: POD_A, awayS: 5, readAtMs: 1_000_000, ...changes }
  expect(start([row]).disconnected.count()).toBe(count)
})

test.each([
  ['ten minutes', 600],
  ['an hour', 3_600],
  ['two hours', 7_200],
  ['a day, the longest', 86_400],
  ['nothing', 0],
])('a process of a silent replica counts as unreachable until its lease of %s is over', (_, leaseS) => {
  let now = 0
  const row = {
    ...{ processId: 'p', gatewayId: 'g', replicaId: 'r', facts: FACTS, killState: null, readAtMs: 0 },
    ...{ owner: POD_A, isPodDeleted: false },
    ...{ connectedS: 100, silentS: 0, awayS: 0, isSilent: true },
  }
  const disconnected = createRecentlyDisconnected({
    known: () => indexProcesses([row], 'replica'),
    isConnected: () => false,
    leaseMs: () => leaseS * 1_000,
    nowMs: () => now,
  })
  now = leaseS * 1_000 + 15_000
  expect(disconnected.count()).toBe(1)
  now += 1
  expect(disconnected.count()).toBe(0)
})
