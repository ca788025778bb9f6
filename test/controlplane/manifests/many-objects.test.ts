import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Db, Query } from '../../../controlplane/db/query.ts'
import { ACCOUNTS_ONLY } from '../../../controlplane/features/authentication/cluster/group-members.ts'
import { createManifests, type Manifests } from '../../../controlplane/features/manifests/service.ts'
import { createCatalogue } from '../../../core/connectors/catalogue.ts'
import type { PushBody } from '../../../core/wire/operator/operator.ts'
import { startWorld, type World } from '../sync/harness.ts'
import type { Kind } from './manifests.ts'

const TEAMS = 100
const counts = { queries: 0, rows: 0, judgements: 0 }

let world: World
let manifests: Manifests

beforeAll(async () => {
  world = await startWorld()
  const { db } = await world.replica()
  const { rows } = await db.query<{ id: string }>('select id from orgs')
  const { knownAction } = createCatalogue()
  manifests = createManifests({
    ...{ db: counted(db), orgId: rows[0]?.id ?? '', keyring: world.keyring },
    killSwitch: { replaceSource: async () => false },
    members: ACCOUNTS_ONLY,
    // Each test of a policy looks up its action once.
    knownAction(type) {
      counts.judgements += 1
      return knownAction(type)
    },
  })
  await change([gateway('shared'), gateway('other')])
  const teams = Array.from({ length: TEAMS }, (_, at) => `team-${at}`)
  await change(teams.flatMap((team) => objectsOf(team)))
}, 300_000)
afterAll(() => world?.stop())

function counted(db: Db): Db {
  const counting = (q: Query): Query => ({
    async query<R>(text: string, values?: readonly unknown[]) {
      counts.queries += 1
      const result = await q.query<R>(text, values)
      counts.rows += result.rows.length
      return result
    },
  })
  return { ...db, ...counting(db), tx: (work) => db.tx((q) => work(counting(q))) }
}

function object(kind: Kind, namespace: string, name: string, spec: object, generation = 1): PushBody {
  return {
    ...{ uid: `${kind}-${namespace}-${name}`, generation, source: 'kubernetes', managed_by: name },
    created_at: '2026-01-01T00:00:00Z',
    resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace }, spec },
  } as PushBody
}

function gateway(name: string, generation = 1): PushBody {
  const from = { from: 'All' }
  const agents = { from: generation % 2 === 0 ? 'All' : 'Same' }
  const allowedNamespaces = { connectors: from, permissions: from, policies: from, agents }
  return object(
    'Gateway',
    'host',
    name,
    { allowedNamespaces, egress: { allowedHosts: [`v${generation}.example`] } },
    generation,
  )
}

const at = (name: string) => ({ gatewayRefs: [{ name, namespace: 'host' }] })
const connector = (team: string, name: string, host: string, generation = 1) =>
  object(
    'Connector',
    team,
    `to-${name}`,
    { type: 'generic', domains: [host], auth: { type: 'none' }, ...at(name) },
    generation,
  )
const permission = (team: string, name: string, generation = 1) =>
  object(
    'Permission',
    team,
    `at-${name}`,
    {
      rules: [
        {
          connectorType: 'generic',
          actionPattern: 'generic.get',
          decision: 'allow',
          reason: `v${generation}`,
        },
      ],
      ...at(name),
    },
    generation,
  )

/** Three at `shared`, two at `other`. The text of each policy is its own. */
function objectsOf(team: string): PushBody[] {
  const policy = object('Policy', team, 'guard', {
    rules: [
      { name: `deny-${team}`, conditions: ['action.type == "codehost.repo.delete"'], decision: 'deny' },
    ],
    tests: [
      {
        name: 'deleting',
        action: { type: 'codehost.repo.delete', resource: { provider: 'codehost' } },
        expect: { outcome: 'deny' },
      },
    ],
    ...at('shared'),
  })
  return [
    ...['shared', 'other'].map((name) => connector(team, name, `${team}.${name}.example`)),
    ...['shared', 'other'].map((name) => permission(team, name)),
    policy,
  ]
}

async function change(objects: readonly PushBody[]) {
  counts.queries = 0
  counts.rows = 0
  counts.judgements = 0
  const { replies } = await manifests.change({ source: 'kubernetes', objects: [...objects], removed: [] })
  return replies
}

test('a Permission, a Policy and a Gateway whose admission stays read only what they reference', async () => {
  const policy = (generation: number) => ({ ...objectsOf('team-1')[4], generation }) as PushBody
  const ordinary = gateway('shared', 3)
  for (const body of [permission('team-1', 'shared', 2), policy(2), ordinary]) {
    const [reply] = await change([body])
    expect(reply).toMatchObject({ accepted: true, problem: null })
    expect(counts.judgements).toBe(0)
    expect(counts.queries).toBeLessThan(20)
    expect(counts.rows).toBeLessThan(20)
  }
})

test('a Connector reads those of its own Gateway', async () => {
  await change([connector('team-1', 'other', 'team-1.other.example', 2)])
  expect(counts.rows).toBeLessThan(2 * TEAMS + 20)
})

test('a Gateway that admits others applies its own objects again, and compiles no policy again', async () => {
  const [reply] = await change([gateway('shared', 4)])
  expect(reply?.accepted).toBe(true)
  expect(counts.judgements).toBe(0)
  // Its 300 objects, which are read together.
  expect(counts.rows).toBeGreaterThan(3 * TEAMS)
  expect(counts.queries).toBeLessThan(40)
})

test('objects of other Gateways are not applied again', async () => {
  await change([gateway('other', 2)])
  expect(counts.judgements).toBe(0)
  expect(counts.queries).toBeLessThan(40)
})

test('a Connector costs the same, however many objects there are', async () => {
  const [reply] = await change([connector('newcomer', 'shared', 'newcomer.example')])
  expect(reply).toMatchObject({ accepted: true, problem: null })
  expect(counts.judgements).toBe(0)
  expect(counts.queries).toBeLessThan(40)
})

test('a hundred Connectors that wait for one host cost one read of the others', async () => {
  const teams = Array.from({ length: TEAMS }, (_, index) => `wait-${index}`)
  const replies = await change(teams.map((team) => connector(team, 'shared', 'wanted.example')))
  expect(replies.filter(({ accepted }) => accepted)).toHaveLength(1)
  await change([connector('late', 'shared', 'wanted.example')])
  expect(counts.queries).toBeLessThan(TEAMS + 60)
})

test('Permissions of a change set are written together, each with its audit event, in order', async () => {
  const teams = Array.from({ length: TEAMS }, (_, index) => `team-${index}`)
  const changed = teams.flatMap((team) => ['shared', 'other'].map((name) => permission(team, name, 3)))
  const replies = await change(changed)
  expect(replies.filter(({ accepted }) => !accepted)).toEqual([])
  expect(counts.queries).toBeLessThan(40)
  const { db } = await world.replica()
  const { rows } = await db.query<{ reason: string; n: number }>(
    "select reason, count(*)::int as n from permissions where owner like 'Permission/team-%' group by reason",
  )
  expect(rows).toEqual([{ reason: 'v3', n: changed.length }])
  const events = await db.query<{ name: string }>(
    `select details ->> 'permission' as name from audit_events where details ->> 'change' = 'permission.applied'
     order by id desc limit $1`,
    [changed.length],
  )
  expect(events.rows.map(({ name }) => name).reverse()).toEqual(
    changed.map(({ resource: { metadata } }) => `${metadata.namespace}/${metadata.name}`),
  )
  await change([...changed].map((body) => ({ ...body, generation: 4 })))
  expect(counts.queries).toBeLessThan(20)
})

test('a change set that fails writes neither rows nor events', async () => {
  const { db } = await world.replica()
  const written = () =>
    db.query('select (select count(*) from permissions), (select count(*) from audit_events)')
  const before = (await written()).rows
  const broken = permission('team-1', 'shared', 9)
  await expect(
    change([permission('team-2', 'shared', 9), { ...broken, uid: null as never }]),
  ).rejects.toThrow()
  expect((await written()).rows).toEqual(before)
})

test('many objects refresh the statistics of their tables, so that no plan of the empty tables is kept', async () => {
  const { db } = await world.replica()
  const { rows } = await db.query<{ table: string }>(
    `select distinct tablename as table from pg_stats
     where tablename in ('manifest_objects', 'permissions', 'policies', 'connectors') order by 1`,
    [],
  )
  expect(rows.map(({ table }) => table)).toEqual([
    'connectors',
    'manifest_objects',
    'permissions',
    'policies',
  ])
})
