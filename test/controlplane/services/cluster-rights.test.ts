import { expect, test } from 'vitest'
import type { Db } from '../../../controlplane/db/query.ts'
import { createClusterCallers } from '../../../controlplane/features/authentication/cluster/callers.ts'
import { createClusterRights } from '../../../controlplane/features/authentication/cluster/rights.ts'
import { ChaperoneError } from '../../../core/errors.ts'

const COUNT = 500
const NAMES = Array.from({ length: COUNT }, (_, at) => `team-${String(at).padStart(3, '0')}`)
const user = (username: string) => ({ username, groups: ['system:authenticated'] })

type Review = {
  readonly spec: {
    readonly user?: string
    readonly token?: string
    readonly resourceAttributes?: { readonly namespace: string }
  }
}

/** An API server that allows `namespace` (`''`: all) to its users by this table, and counts. */
function world(allowed: Readonly<Record<string, readonly string[]>> = {}) {
  const asked: string[] = []
  const state = { nowMs: 0, running: 0, most: 0, silent: false }
  const kube = {
    async create(_path: string, object: object): Promise<unknown> {
      const { spec } = object as Review
      if (spec.token !== undefined) return { status: { authenticated: true, user: { username: spec.token } } }
      const { user: name = '', resourceAttributes: { namespace = '' } = {} } = spec
      asked.push(`${name} ${namespace}`)
      state.most = Math.max(state.most, ++state.running)
      await new Promise((resolve) => setImmediate(resolve))
      state.running -= 1
      if (state.silent) throw new ChaperoneError('not_ready', { retryAfterS: 2 })
      return { status: { allowed: allowed[name]?.includes(namespace) ?? false } }
    },
  }
  const db = {
    query: async (text: string) => ({
      rows: /from gateways/.test(text) ? NAMES.map((name) => ({ name })) : [],
    }),
  } as unknown as Db
  return { asked, state, kube, db, rights: createClusterRights({ db, kube }, () => state.nowMs) }
}

test('a right that has to hold everywhere takes one review, and so does the role of a caller', async () => {
  const { asked, rights, db, kube } = world({ ann: ['team-001'] })
  expect(await rights(user('ann'), 'records/get', 'cluster')).toEqual(new Set())
  expect(asked).toEqual(['ann '])
  const caller = await createClusterCallers({ db, kube }).byToken('bob', '192.0.2.1')
  expect(caller?.role).toBe('member')
  expect(asked).toEqual(['ann ', 'bob '])
})

test('a right in namespaces takes one review of each, 4 at a time, and none for a user who has it everywhere', async () => {
  const { asked, state, rights } = world({ ann: ['team-001', 'team-499', 'other'], zoe: [''] })
  expect(await rights(user('ann'), 'approvals/get', 'namespaces')).toEqual(new Set(['team-001', 'team-499']))
  expect([asked.length, state.most]).toEqual([COUNT + 1, 4])
  expect(await rights(user('zoe'), 'approvals/get', 'namespaces')).toBe('all')
  expect(asked).toHaveLength(COUNT + 2)
})

test('reviews of many users share 8 connections and take turns: a new user does not wait for the rounds of others', async () => {
  const { asked, state, rights } = world({ ann: [''] })
  const others = Array.from({ length: 50 }, (_, at) =>
    rights(user(`stranger-${at}`), 'approvals/get', 'namespaces'),
  )
  await Promise.all(Array.from({ length: 5 }, () => new Promise((resolve) => setImmediate(resolve))))
  expect(await rights(user('ann'), 'approvals/get', 'namespaces')).toBe('all')
  expect(asked.length).toBeLessThan(1_000)
  await Promise.all(others)
  expect([asked.length, state.most]).toEqual([50 * (COUNT + 1) + 1, 8])
})

test('requests of one user share a review, which counts longer the more namespaces it took', async () => {
  const { asked, state, rights } = world()
  const ask = () => rights(user('eve'), 'approvals/get', 'namespaces')
  await Promise.all(Array.from({ length: 100 }, ask))
  for (; state.nowMs < 20_000; state.nowMs += 100) await ask()
  expect(asked).toHaveLength(COUNT + 1)
  await ask()
  expect(asked).toHaveLength(2 * (COUNT + 1))
})

test('a review that fails is not remembered', async () => {
  const { state, rights } = world({ ann: ['team-001'] })
  state.silent = true
  await expect(rights(user('ann'), 'approvals/get', 'namespaces')).rejects.toThrow(ChaperoneError)
  state.silent = false
  expect(await rights(user('ann'), 'approvals/get', 'namespaces')).toEqual(new Set(['team-001']))
})

test('more pending reviews than the bound are refused with a time to try again', async () => {
  const { rights, state } = world()
  const answers = await Promise.all(
    Array.from({ length: 5_000 }, (_, at) =>
      rights(user(`stranger-${at}`), 'records/get', 'cluster').then(
        () => 'answered',
        (error: unknown) => (error instanceof ChaperoneError ? error.code : String(error)),
      ),
    ),
  )
  expect(new Set(answers)).toEqual(new Set(['answered', 'not_ready']))
  expect(answers.filter((answer) => answer === 'answered').length).toBeGreaterThanOrEqual(4_000)
  expect(state.most).toBe(8)
})
