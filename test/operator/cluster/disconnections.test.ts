import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ChaperoneError } from '../../../core/errors.ts'
import { GatewayProcess } from '../../../core/wire/operator/operator.ts'
import { createDisconnections } from '../../../operator/cluster/disconnections.ts'
import { governedPod } from '../../../operator/cluster/pods/governed-pods.ts'

const pod = (name: string) =>
  governedPod({
    metadata: {
      ...{ namespace: 'team', name, uid: `uid-${name}`, resourceVersion: '1' },
      annotations: { 'chaperone.dev/agent': 'web' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'r', controller: true },
      ],
    },
    status: { initContainerStatuses: [{ name: 'chaperone-proxy', ready: false, state: { running: {} } }] },
  } as never)
const process = (changes: object) =>
  GatewayProcess.parse({
    ...{
      gateway: 'team/prod',
      process_id: 'p',
      covered_version: null,
      has_kill_state: false,
      rejected: null,
    },
    ...changes,
  })

function opened(cause: string | null = 'NetworkPolicy team/deny') {
  let now = 0
  const events: string[] = []
  const asked: string[] = []
  const changed: string[] = []
  const disconnections = createDisconnections({
    async diagnose({ name }) {
      asked.push(name)
      return cause
    },
    events: {
      async record({ kind, metadata: { name } }, { reason, note }) {
        events.push(`${kind} ${name} ${reason}: ${note}`)
      },
    },
    onDiagnosed: (gateway) => changed.push(gateway),
    onFailure(error) {
      throw error
    },
    monotonicMs: () => now,
  })
  const observe = async (processes: readonly GatewayProcess[], names: readonly string[], isStale = false) => {
    const found = disconnections.of('team/prod', { unready: names.map(pod), processes, isStale })
    await turn()
    return found
  }
  return {
    ...{ events, asked, changed, observe, disconnections },
    at(ms: number) {
      now = ms
    },
  }
}

test('a sidecar without a stream for 10 s has an Event on pod and owner, and after 60 s degrades its Gateway', async () => {
  const { events, asked, changed, observe, disconnections, at } = opened()
  expect(await observe([], ['a', 'b'])).toEqual([])
  expect(disconnections.dueMs('team/prod')).toBe(10_001)
  at(9_999)
  expect(await observe([], ['a', 'b'])).toEqual([])
  expect([events, asked]).toEqual([[], []])
  at(10_001)
  expect(await observe([], ['a', 'b'])).toEqual([])
  expect(asked).toEqual(['a', 'b'])
  expect(changed).toEqual(['team/prod', 'team/prod'])
  expect(events).toEqual(
    expect.arrayContaining([
      expect.stringMatching(
        /^Pod a SidecarNotConnected: The sidecar of this pod .*NetworkPolicy team\/deny$/,
      ),
      expect.stringMatching(/^ReplicaSet web SidecarNotConnected: The sidecar of a pod of this ReplicaSet /),
    ]),
  )
  // The Event of the owner is the same for all of its pods, so that it is written once.
  expect(new Set(events.filter((event) => event.startsWith('ReplicaSet'))).size).toBe(1)
  at(60_001)
  const degraded = await observe([], ['b', 'a'])
  expect(degraded).toEqual([{ cause: 'NetworkPolicy team/deny', pods: ['team/a', 'team/b'] }])
  expect(asked).toEqual(['a', 'b'])
  at(70_002)
  await observe([], ['a'])
  expect(asked).toEqual(['a', 'b', 'a'])
})

test('a sidecar with a stream is no such sidecar, and the time starts again when the stream ends', async () => {
  const { asked, observe, disconnections, at } = opened()
  await observe([], ['a'])
  at(9_000)
  await observe([process({ pod_uid: 'uid-a', agent: 'team/web' })], ['a'])
  expect(disconnections.dueMs('team/prod')).toBeNull()
  at(15_000)
  await observe([process({ pod_uid: 'uid-b', agent: 'team/web' })], ['a'])
  expect(asked).toEqual([])
  at(25_000)
  await observe([], ['a'])
  expect(asked).toEqual(['a'])
})

test('a pod that was deleted before its diagnosis has no Event, and is no failure', async () => {
  const failures: unknown[] = []
  const events: string[] = []
  let now = 0
  const disconnections = createDisconnections({
    diagnose: async ({ name }) => {
      throw new ChaperoneError(name === 'gone' ? 'not_found' : 'forbidden', { detail: name })
    },
    events: { record: async (_target, { reason }) => void events.push(reason) },
    onDiagnosed: () => undefined,
    onFailure: (error) => failures.push(error),
    monotonicMs: () => now,
  })
  const unready = [pod('gone'), pod('kept')]
  for (const at of [0, 10_001]) {
    now = at
    disconnections.of('team/prod', { unready, processes: [], isStale: false })
    await turn()
  }
  expect(events).toEqual([])
  expect(failures).toEqual([expect.objectContaining({ code: 'forbidden', message: 'kept' })])
})

test('the stream of an older control plane counts for every pod of its agent', async () => {
  const { asked, observe, at } = opened()
  const old = process({ agent: 'team/web' })
  await observe([old], ['a'])
  at(20_000)
  await observe([old], ['a'])
  expect(asked).toEqual([])
})

test('the text names the log if no cause is found, and says so if the control plane does not respond', async () => {
  const unknown = opened(null)
  await unknown.observe([], ['a'])
  unknown.at(60_001)
  expect(await unknown.observe([], ['a'])).toEqual([{ cause: '', pods: ['team/a'] }])
  expect(unknown.events[0]).toContain('kubectl chaperone doctor POD')
  const stale = opened()
  await stale.observe([], ['a'], true)
  stale.at(10_001)
  await stale.observe([], ['a'], true)
  expect(stale.asked).toEqual([])
  expect(stale.events[0]).toContain('the control plane does not respond to the operator either')
})
