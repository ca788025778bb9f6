import { expect, test } from 'vitest'
import { ChaperoneError } from '../../../core/errors.ts'
import type { ChangeSetBody, PushBody, PushReply } from '../../../core/wire/operator/operator.ts'
import { createBatch } from '../../../operator/reconcile/batch.ts'
import { createLimit } from '../../../operator/status/concurrency-limit.ts'

const body = (kind: PushBody['resource']['kind'], name: string): PushBody => ({
  ...{ uid: name, generation: 1, source: 'kubernetes', managed_by: name },
  resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace: 'team' }, spec: {} },
})
const object = (kind: string, name: string) => ({ kind, namespace: 'team', name })

const REPLY: Omit<PushReply, 'reasons'> = {
  ...{ accepted: true, problem: null, in_force: 'as_written', warnings: [], version: 1, gateways: [] },
  ...{ tests: null, acknowledged: { acked: 0, total: 0 } },
}

/** Fails while `failure` answers for a set. */
function batches(failure: (set: ChangeSetBody) => unknown = () => null) {
  const sets: string[][] = []
  const client = {
    async change(set: ChangeSetBody) {
      const { objects, removed } = set
      sets.push([
        ...removed.map(({ kind, name }) => `-${kind}/${name}`),
        ...objects.map(({ resource }) => `${resource.kind}/${resource.metadata.name}`),
      ])
      const error = failure(set)
      if (error !== null) throw error
      const replies = objects.map(({ uid }) => ({ ...REPLY, reasons: [uid] }))
      return { removed: 0, missing: [], replies }
    },
  }
  const timing = { quietMs: 20, longestMs: 10_000 }
  return { sets, batch: createBatch(client, new AbortController().signal, timing) }
}

test('changes at nearly the same time are one change set, with a reply for each', async () => {
  const { sets, batch } = batches()
  const [connector, permission, policy] = await Promise.all([
    batch.put(body('Connector', 'c')),
    batch.put(body('Permission', 'p')),
    batch.put(body('Policy', 'd')),
    batch.remove(object('Policy', 'old')),
  ])
  expect(sets).toEqual([['-Policy/old', 'Connector/c', 'Permission/p', 'Policy/d']])
  expect([connector, permission, policy].map(({ reasons }) => reasons[0])).toEqual(['c', 'p', 'd'])
  await batch.put(body('Policy', 'later'))
  expect(sets).toHaveLength(2)
})

test('a refused change set is pushed one by one, tightening changes first', async () => {
  const refusal = new ChaperoneError('validation', { detail: 'bad' })
  const { sets, batch } = batches(({ objects, removed }) =>
    objects.length + removed.length > 1 || objects[0]?.uid === 'poison' ? refusal : null,
  )
  const outcomes = await Promise.allSettled([
    batch.put(body('Permission', 'p')),
    batch.put(body('Connector', 'poison')),
    batch.put(body('Policy', 'd')),
    batch.put(body('Gateway', 'g')),
    batch.remove(object('Policy', 'old')),
    batch.remove(object('Permission', 'old')),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual([
    ...['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled', 'fulfilled'],
  ])
  expect(sets.slice(1).flat()).toEqual([
    ...['-Permission/old', 'Gateway/g', 'Policy/d', 'Connector/poison', 'Permission/p', '-Policy/old'],
  ])
})

const timeout = () =>
  new ChaperoneError('not_ready', {
    detail: 'slow',
    cause: new Error('aborted', { cause: new DOMException('The operation timed out', 'TimeoutError') }),
  })
const inNamespace = (namespace: string, given: PushBody): PushBody => ({
  ...given,
  resource: {
    ...given.resource,
    metadata: { ...given.resource.metadata, namespace },
  } as PushBody['resource'],
})

test('a change set that times out is sent by namespace, each as one version, tightening ones first', async () => {
  const { sets, batch } = batches(({ objects, removed }) =>
    objects.length + removed.length > 2 ? timeout() : null,
  )
  const outcomes = await Promise.allSettled([
    batch.put(inNamespace('a', body('Permission', 'pa'))),
    batch.put(inNamespace('a', body('Connector', 'ca'))),
    batch.put(inNamespace('b', body('Gateway', 'gb'))),
    batch.put(inNamespace('c', body('Policy', 'dc'))),
    batch.put(inNamespace('c', body('Permission', 'pc'))),
    batch.remove(object('Policy', 'old')),
  ])
  expect(outcomes.every(({ status }) => status === 'fulfilled')).toBe(true)
  expect(sets.slice(1)).toEqual([
    ['Policy/dc', 'Permission/pc'],
    ['Gateway/gb'],
    ['Permission/pa', 'Connector/ca'],
    ['-Policy/old'],
  ])
})

test('a change set by namespace starts with namespaces that only add policies', async () => {
  const { sets, batch } = batches(({ objects }) => (objects.length > 2 ? timeout() : null))
  await Promise.all([
    batch.put(inNamespace('tenant', body('Policy', 'own'))),
    batch.put(inNamespace('tenant', body('Permission', 'allow'))),
    batch.put(inNamespace('platform', body('Policy', 'ceiling'))),
  ])
  expect(sets.slice(1)).toEqual([['Policy/ceiling'], ['Policy/own', 'Permission/allow']])
})

const from = (namespace: string, kind: string, name: string) => ({ kind, namespace, name })
const changed = (given: PushBody): PushBody => ({ ...given, generation: 2 })

test('a change set by namespace adds policies first and removes policies last, within one namespace too', async () => {
  const { sets, batch } = batches(({ objects, removed }) =>
    objects.length + removed.length > 3 ? timeout() : null,
  )
  const outcomes = await Promise.allSettled([
    batch.put(inNamespace('tenant', body('Permission', 'allow'))),
    batch.put(inNamespace('platform', body('Policy', 'renamed'))),
    batch.put(inNamespace('platform', changed(body('Policy', 'merged')))),
    batch.remove(from('platform', 'Policy', 'old')),
    batch.put(inNamespace('mixed', body('Policy', 'new'))),
    batch.put(inNamespace('mixed', changed(body('Policy', 'loosened')))),
    batch.put(inNamespace('mixed', body('Permission', 'deny'))),
    batch.remove(from('mixed', 'Policy', 'old')),
  ])
  expect(outcomes.every(({ status }) => status === 'fulfilled')).toBe(true)
  expect(sets.slice(1)).toEqual([
    ['Policy/renamed', 'Policy/merged'],
    ['Policy/new'],
    ['Permission/allow'],
    ['-Policy/old'],
    ['-Policy/old', 'Policy/loosened', 'Permission/deny'],
  ])
})

test('after another timeout the other namespaces are not tried', async () => {
  const { sets, batch } = batches(timeout)
  const outcomes = await Promise.allSettled([
    batch.put(inNamespace('a', body('Permission', 'pa'))),
    batch.put(inNamespace('b', body('Permission', 'pb'))),
    batch.put(inNamespace('c', body('Permission', 'pc'))),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(sets).toHaveLength(2)
})

test('while the control plane is unreachable the whole batch fails with one call', async () => {
  const { sets, batch } = batches(() => new ChaperoneError('not_ready', { detail: 'away' }))
  const outcomes = await Promise.allSettled([
    batch.put(body('Policy', 'a')),
    batch.remove(object('Policy', 'b')),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(sets).toHaveLength(1)
})

test('a limit bounds the running tasks, and runs all of them', async () => {
  const limit = createLimit(2)
  let running = 0
  let most = 0
  const results = await Promise.all(
    Array.from({ length: 9 }, (_, index) =>
      limit(async () => {
        running += 1
        most = Math.max(most, running)
        await Promise.resolve()
        running -= 1
        return index
      }),
    ),
  )
  expect(results).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  expect(most).toBe(2)
})
