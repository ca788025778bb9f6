import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Replica, startWorld, type World } from '../sync/harness.ts'

const PLATFORM = 'platform'
const asked: string[] = []
let world: World
let replica: Replica

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica({
    platformNamespaces: new Set([PLATFORM]),
    async clusterGroups(group, namespace) {
      asked.push(`${group} in "${namespace}"`)
      if (group === 'broken') throw new Error('the API server does not answer')
      if (group === 'hanging') return new Promise(() => {})
      return group === 'everywhere' || (group === 'of-team' && namespace === 'team-a')
    },
  })
})
afterAll(() => world?.stop())
beforeEach(() => {
  asked.length = 0
})

let generation = 0

async function warningsOf(namespace: string, groups: readonly string[], name = 'held'): Promise<string[]> {
  const rule = { name: 'r', decision: 'require_approval', approverGroups: groups }
  const spec = { scope: { actions: ['codehost.pr.merge'] }, rules: [rule] }
  const { status, body } = await replica.operator(
    'PUT',
    `/api/operator/objects/Policy/${namespace}/${name}`,
    {
      ...{
        uid: `uid-${namespace}-${name}`,
        generation: ++generation,
        source: 'kubernetes',
        managed_by: 'here',
      },
      resource: { apiVersion: 'chaperone.dev/v1alpha1', kind: 'Policy', metadata: { name, namespace }, spec },
    },
  )
  expect(status, JSON.stringify(body)).toBe(200)
  return body['warnings'] as string[]
}

test('a group that RBAC lets answer in the namespace of the policy has members', async () => {
  await replica.enrol('team-a/gate')
  expect(await warningsOf('team-a', ['of-team', 'everywhere'])).toEqual([])
  expect(asked.sort()).toEqual(['everywhere in "team-a"', 'of-team in "team-a"'])
})

test('the warning about another one says where its members were looked for', async () => {
  await replica.enrol('team-b/gate')
  expect(await warningsOf('team-b', ['of-team'])).toEqual([
    'No account is in the group "of-team", and RBAC does not let the group answer approvals in namespace team-b. ' +
      'If no group of a rule has members, owners and admins of all namespaces can approve its requests.',
  ])
})

test('the groups of a platform policy answer in all namespaces', async () => {
  const [warning, second] = await warningsOf(PLATFORM, ['everywhere', 'of-team'])
  expect(second).toBeUndefined()
  expect(warning).toContain('RBAC does not let the group answer approvals in all namespaces')
  expect(asked.sort()).toEqual(['everywhere in ""', 'of-team in ""'])
})

test('an account in the group is enough, and the cluster is not asked', async () => {
  await replica.db.query(
    "insert into users (id, org_id, email, name, role, password_hash, groups) values ('usr_g', $1, 'g@example.com', 'G', 'member', 'x', '{accounts}')",
    [replica.orgId],
  )
  expect(await warningsOf('team-a', ['accounts'], 'of-accounts')).toEqual([])
  expect(asked).toEqual([])
})

test.each(['broken', 'hanging'])(
  'a cluster that is %s delays nothing for long, and the warning says so',
  async (group) => {
    const [warning] = await warningsOf('team-a', [group], group)
    expect(warning).toContain('the cluster has not answered whether RBAC lets the group answer approvals')
    expect(asked).toEqual([`${group} in "team-a"`])
  },
)

test('policies that are bound anew keep what the cluster said', async () => {
  await warningsOf('team-a', ['of-team'])
  const bound = await replica.operator('PUT', '/api/operator/namespaces', {
    namespaces: [{ name: 'team-a', labels: { stage: 'test' } }],
  })
  expect(bound.status).toBe(200)
  const { body } = await replica.operator('GET', '/api/operator/objects/Policy/team-a/held')
  expect(body).toMatchObject({ accepted: true, warnings: [] })
})
