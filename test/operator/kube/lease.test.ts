import pino from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { kubeconfigAccess } from '../../../kube/kubeconfig-access.ts'
import { boundTo } from '../../../operator/kube/bound-client.ts'
import { createKubeClient, type KubeClient } from '../../../operator/kube/client.ts'
import { createElection, type Election } from '../../../operator/kube/lease.ts'
import { sleep } from '../../../runtime/sleep.ts'
import { eventually } from '../../support/eventually.ts'
import { type FakeKubeApi, type Front, startFakeKubeApi } from '../../support/fake-kube-api.ts'

const log = pino({ level: 'silent' })
const TIMING = { durationMs: 1_500, renewDeadlineMs: 1_000, retryMs: 200 }
/** Longer than any test waits: a leader that follows within it was given the Lease. */
const LONG = { durationMs: 120_000, renewDeadlineMs: 90_000, retryMs: 200 }

type Candidate = { readonly front: Front; readonly client: KubeClient; readonly election: Election }
let api: FakeKubeApi
let candidates: Candidate[]

beforeEach(async () => {
  api = await startFakeKubeApi()
  candidates = []
})
afterEach(async () => {
  for (const { election, client, front } of candidates) {
    await front.restore()
    await election.stop()
    client[Symbol.dispose]()
  }
  await api[Symbol.asyncDispose]()
})

/** Writes without pause as long as it leads. */
async function candidate(name: string, timing = TIMING): Promise<Candidate> {
  const front = await api.front(name)
  const client = createKubeClient(kubeconfigAccess(front.config))
  const election = createElection({
    ...{ client, log, namespace: 'system', name: 'lease', identity: name, timing },
    async lead(signal) {
      const bound = boundTo(client, signal)
      while (!signal.aborted) {
        const body = { metadata: { generateName: name } }
        const path = '/api/v1/namespaces/system/configmaps'
        await bound.call({ method: 'POST', path, body }).catch((error: unknown) => {
          if (!signal.aborted) throw error
        })
        await sleep(5, signal)
      }
    },
  })
  const made = { front, client, election }
  candidates.push(made)
  return made
}

const writesBy = (name: string) =>
  api.writes().filter((call) => call.front === name && call.path.endsWith('/configmaps'))
const leads = (one: Candidate) => eventually('it leads', () => (one.election.isLeader() ? true : null))

describe('leading by a Lease', () => {
  test('one of two leads; the other takes over at once after a regular stop', async () => {
    const first = await candidate('first', LONG)
    await leads(first)
    const second = await candidate('second', LONG)
    await eventually('the first writes', () => (writesBy('first').length > 5 ? true : null))
    expect([second.election.isLeader(), writesBy('second')]).toEqual([false, []])
    await first.election.stop()
    await leads(second)
    const last = writesBy('first').at(-1)?.at ?? 0
    await eventually('the second writes', () => (writesBy('second').length > 5 ? true : null))
    expect(writesBy('second')[0]?.at).toBeGreaterThan(last)
  })

  test('two never lead at the same time, even when the first is partitioned', async () => {
    const first = await candidate('first')
    await leads(first)
    const second = await candidate('second')
    await eventually('the first writes', () => (writesBy('first').length > 5 ? true : null))
    first.front.hang()
    await leads(second)
    expect(first.election.isLeader()).toBe(false)
    await eventually('the second writes', () => (writesBy('second').length > 5 ? true : null))
    await first.front.restore()
    await eventually('the first asks again', () => {
      const asked = api.calls.filter(({ front, path }) => front === 'first' && path.endsWith('/leases/lease'))
      return (asked.at(-1)?.at ?? 0) > (writesBy('second')[5]?.at ?? 0) ? true : null
    })
    const takenOverAt = writesBy('second')[0]?.at ?? 0
    expect(writesBy('first').filter(({ at }) => at >= takenOverAt)).toEqual([])
  })

  test('two that create the lease at the same time do not both get it', async () => {
    const both = await Promise.all([candidate('first'), candidate('second')])
    await eventually('one leads', () => (both.some(({ election }) => election.isLeader()) ? true : null))
    await eventually('it writes', () =>
      api.writes().filter((c) => c.path.endsWith('/configmaps')).length > 20 ? true : null,
    )
    expect([writesBy('first').length === 0, writesBy('second').length === 0]).toContain(true)
  })
})
