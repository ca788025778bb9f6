import pino from 'pino'
import { afterEach, expect, test, vi } from 'vitest'
import type { KubeClient } from '../../../operator/kube/client.ts'
import { createEventRecorder } from '../../../operator/kube/events.ts'
import { kubeFailure } from '../../../operator/kube/kube-failure.ts'

type Written = { readonly metadata: { readonly name: string }; readonly note: string }

afterEach(() => vi.useRealTimers())

/** Stores Events as the API server does, which refuses a second object with the same name. */
function eventStore() {
  const events: Written[] = []
  const call = async ({ body }: { body?: unknown }) => {
    const event = body as Written
    if (events.some(({ metadata }) => metadata.name === event.metadata.name)) throw kubeFailure(409, '')
    events.push(event)
  }
  return { events, client: { call } as unknown as Pick<KubeClient, 'call'> }
}

const pod = (name: string) => ({
  ...{ apiVersion: 'v1', kind: 'Pod' },
  metadata: { name, namespace: 'team', uid: `uid-${name}`, resourceVersion: '1' },
})
const found = (note: string) => ({
  type: 'Warning' as const,
  reason: 'BypassDetected',
  action: 'Watch',
  note,
})

test('replicas of the operator write one Event about the same finding', async () => {
  vi.useFakeTimers({ now: Date.parse('2027-01-01T00:00:01Z'), toFake: ['Date', 'performance'] })
  const { events, client } = eventStore()
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
  const replicas = ['operator-a', 'operator-b'].map((instance) =>
    createEventRecorder({ client, log, instance }),
  )
  const recordAll = async (name: string, note: string) => {
    for (const each of replicas) await each.record(pod(name), found(note))
  }
  await recordAll('bare', 'no sidecar')
  await recordAll('bare', 'no sidecar')
  expect(events.map(({ note }) => note)).toEqual(['no sidecar'])
  await recordAll('bare', 'another finding')
  await recordAll('other', 'no sidecar')
  expect(events).toHaveLength(3)
  vi.advanceTimersByTime(10 * 60_000)
  await recordAll('bare', 'no sidecar')
  expect(events).toHaveLength(4)
  expect(lines).toEqual([])
})
