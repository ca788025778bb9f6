import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../controlplane/crypto/ids.ts'
import type { UserPrincipal } from '../../../controlplane/http/auth/authenticate.ts'
import type { ApprovalCard } from '../../../core/wire/gateway/internal.ts'
import { type Enrolled, holdBody, person, type Replica, startWorld, type World } from '../sync/harness.ts'

let world: World
let replica: Replica
/** By the namespace of their agents. */
let gateways: Readonly<Record<string, Enrolled>>
const asked: string[] = []

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica({
    async clusterGroups(group, namespace) {
      asked.push(`${group} in ${namespace}`)
      if (group === 'unanswered') throw new Error('the API server does not answer')
      return group === 'of-cluster' && namespace === 'agents'
    },
  })
  gateways = {
    agents: await replica.enrol('agents/main'),
    elsewhere: await replica.enrol('elsewhere/main'),
  }
})
afterAll(() => world.stop())

const GROUPS = ['security', 'finance']

function gatewayOf(namespace: string): Enrolled {
  const found = gateways[namespace]
  if (found === undefined) throw new Error(namespace)
  return found
}

async function hold(sets: ReadonlyArray<readonly string[]>, distinct: boolean, namespace = 'agents') {
  const gateway = gatewayOf(namespace)
  const required_groups = sets.map((groups, at) => ({
    policy: `policy-${at}`,
    groups: [...groups],
    distinct,
  }))
  const binding = newId('hold').padEnd(64, '0').slice(-64)
  const agent = `${namespace}/${newId('agent')}`
  await replica.command(gateway, 'agents.register', { name: agent })
  const reply = await replica.gateway(
    gateway,
    'POST',
    '/api/gateway/holds',
    holdBody({
      binding,
      agent,
      required_groups,
      required_approver_groups: [...new Set(sets.flat())],
    }),
  )
  expect(reply.status, JSON.stringify(reply.body)).toBe(200)
  const { id } = reply.body['approval'] as ApprovalCard
  return { id, binding, gateway }
}
const answer = async (id: string, who: UserPrincipal) => {
  const { status, body } = await replica.user(who, 'POST', '/api/dashboard/proxy-approvals', {
    id,
    approved: true,
  })
  return status === 200 ? body['status'] : status
}
const isSpent = async ({ id, binding, gateway }: Awaited<ReturnType<typeof hold>>) =>
  (await replica.gateway(gateway, 'POST', `/api/gateway/holds/${id}/spend`, { binding })).body['spent']

/** `verified`: what an identity provider says of the address; null = an account with a password. */
async function account(email: string, verified: boolean | null = null): Promise<UserPrincipal> {
  const userId = newId('user')
  await replica.db.query(
    "insert into users (id, org_id, email, name, role, password_hash, groups) values ($1, $2, $3, 'A', 'member', 'x', $4)",
    [userId, replica.orgId, email, GROUPS],
  )
  if (verified !== null)
    await replica.db.query(
      "insert into user_identities (user_id, issuer, subject, tokens, email_verified) values ($1, 'https://idp.example', $1, '{}', $2)",
      [userId, verified],
    )
  return person({ userId, email, groups: GROUPS })
}
const cluster = (
  username: string,
  clusterCredential: 'token' | 'certificate' = 'token',
  groups: readonly string[] = GROUPS,
): UserPrincipal =>
  person({ userId: `cluster:${username}`, email: username, groups, via: 'cluster', clusterCredential })

let count = 0
const address = (name: string) => `${name}-${++count}@example.com`
const DISTINCT = GROUPS.map((group) => [group])

describe('where distinct users are required', () => {
  const TWICE: ReadonlyArray<readonly [string, () => Promise<readonly [UserPrincipal, UserPrincipal]>]> = [
    ['an account and a token', async () => [await account(address('ann')), cluster('ann')]],
    [
      'an account and a certificate',
      async () => [await account(address('ann')), cluster('ann', 'certificate')],
    ],
    [
      'an account of the provider and a name that is no address',
      async () => [await account(address('ann'), true), cluster('u-1')],
    ],
    [
      'an account with an address that nobody verified',
      async () => [await account(address('ann')), cluster(address('bob'))],
    ],
    [
      'an account of a provider that does not say whether the address is verified',
      async () => [await account(address('ann'), false), cluster(address('bob'))],
    ],
    ['a token and a certificate', async () => [cluster('ann'), cluster('kubernetes-admin', 'certificate')]],
    [
      'a token with an address and a certificate',
      async () => [cluster(address('ann')), cluster('ann', 'certificate')],
    ],
  ]
  test.each(TWICE)('%s count as one user, in both orders', async (_, users) => {
    for (const isReversed of [false, true]) {
      const held = await hold(DISTINCT, true)
      const both = await users()
      for (const who of isReversed ? [both[1], both[0]] : both)
        expect(await answer(held.id, who)).toBe('pending')
      expect(await isSpent(held)).toBe(false)
      const third = both[0].via === 'cluster' ? cluster('carol') : await account(address('carol'))
      expect(await answer(held.id, third)).toBe('approved')
    }
  })

  test('one address with two authentication modes is one user, whose second answer is refused', async () => {
    for (const isDistinct of [true, false]) {
      const held = await hold([...DISTINCT, ['security']], isDistinct)
      const email = address('ann')
      const own = { ...(await account(email)), groups: ['security'] }
      expect(await answer(held.id, own)).toBe('pending')
      for (const name of [email, `oidc:${email}`, email.toUpperCase()])
        for (const way of ['token', 'certificate'] as const)
          expect(await answer(held.id, cluster(name, way))).toBe(409)
      expect(await isSpent(held)).toBe(false)
    }
  })

  test('one address of two authenticators of the cluster is one user, whose second answer is refused', async () => {
    for (const way of ['token', 'certificate'] as const) {
      const held = await hold(DISTINCT, true)
      const email = address('ann')
      expect(await answer(held.id, cluster(`oidc:${email}`, way))).toBe('pending')
      expect(await answer(held.id, cluster(`google:${email}`, way))).toBe(409)
      expect(await isSpent(held)).toBe(false)
    }
  })

  const TWO: ReadonlyArray<readonly [string, () => Promise<readonly [UserPrincipal, UserPrincipal]>]> = [
    ['two accounts', async () => [await account(address('ann')), await account(address('bob'))]],
    ['two tokens', async () => [cluster('ann'), cluster('bob')]],
    ['two certificates', async () => [cluster('ann', 'certificate'), cluster('bob', 'certificate')]],
    [
      'an account of the provider and a token with another address',
      async () => [await account(address('ann'), true), cluster(address('oidc:bob'))],
    ],
    [
      'a token and a certificate with two addresses',
      async () => [cluster(address('ann')), cluster(address('bob'), 'certificate')],
    ],
  ]
  test.each(TWO)('%s count as two users', async (_, users) => {
    const held = await hold(DISTINCT, true)
    const [first, second] = await users()
    expect(await answer(held.id, first)).toBe('pending')
    expect(await answer(held.id, second)).toBe('approved')
    expect(await isSpent(held)).toBe(true)
  })

  test.each(['system:serviceaccount:agents:bot', 'system:node:n1', 'system:kube-scheduler'])(
    '%s identifies no user',
    async (name) => {
      const held = await hold(DISTINCT, true)
      expect(await answer(held.id, cluster(name))).toBe(403)
      expect(await answer(held.id, cluster(name, 'certificate'))).toBe(403)
      expect(await isSpent(held)).toBe(false)
    },
  )

  test('and elsewhere one user answers for each of their groups', async () => {
    const held = await hold(DISTINCT, false)
    expect(await answer(held.id, cluster('ann'))).toBe('approved')
  })
})

describe('an approver group whose members are users of the cluster only', () => {
  const admin = () => person({ role: 'admin', groups: [] })

  test('cannot be answered by admins and owners, whatever group is required beside it', async () => {
    for (const role of ['admin', 'owner'] as const)
      for (const groups of [['of-cluster'], ['nobody', 'of-cluster'], ['of-cluster', 'nobody']]) {
        const held = await hold([groups], false)
        expect(await answer(held.id, person({ role, groups: [] }))).toBe(403)
        expect(await isSpent(held)).toBe(false)
        expect(await answer(held.id, cluster('ann', 'token', ['of-cluster']))).toBe('approved')
      }
  })

  test('can be answered by admins where no namespace, or only another one, has a member', async () => {
    expect(await answer((await hold([['nobody']], false)).id, admin())).toBe('approved')
    expect(await answer((await hold([['of-cluster']], false, 'elsewhere')).id, admin())).toBe('approved')
    expect(asked).toContain('of-cluster in elsewhere')
  })

  test('cannot be answered by an admin of some namespaces', async () => {
    for (const groups of [['nobody'], ['of-cluster']]) {
      const held = await hold([groups], false, 'elsewhere')
      const tenant = person({ role: 'admin', groups: [], roleNamespaces: new Set(['elsewhere']) })
      expect(await answer(held.id, tenant)).toBe(403)
      expect(await isSpent(held)).toBe(false)
      expect(await answer(held.id, admin())).toBe('approved')
    }
  })

  test('cannot be answered by admins while the API server does not respond', async () => {
    const held = await hold([['unanswered']], false)
    expect(await answer(held.id, admin())).toBeGreaterThanOrEqual(500)
    expect(await isSpent(held)).toBe(false)
  })
})

describe('an answer that was given before its user', () => {
  const set = (change: string) => `update users set ${change} where id = $1`
  const lower = (role: string, namespaces: readonly string[] | null) =>
    `role = 'admin', namespaces = '{elsewhere}', lower_roles = '${JSON.stringify([{ role, namespaces }])}'`
  test.each([
    ['had a role in its namespace only', set("namespaces = '{agents}'"), 'approved'],
    [
      'had a role in its namespace beside a higher one elsewhere',
      set(lower('member', ['agents'])),
      'approved',
    ],
    ['had a role everywhere beside a higher one elsewhere', set(lower('member', null)), 'approved'],
    ['was an admin of its namespace', set("role = 'admin', namespaces = '{elsewhere,agents}'"), 'approved'],
    ['had a role in another namespace only', set("namespaces = '{elsewhere}'"), 'pending'],
    ['had a role in no namespace', set("namespaces = '{}'"), 'pending'],
    ['was an admin of another namespace', set("role = 'admin', namespaces = '{elsewhere}'"), 'pending'],
    [
      'was a viewer in its namespace beside a higher role elsewhere',
      set(lower('viewer', ['agents'])),
      'pending',
    ],
    ['was a viewer everywhere beside a higher role elsewhere', set(lower('viewer', null)), 'pending'],
    ['had lower roles elsewhere', set(lower('member', ['elsewhere', 'agents-2'])), 'pending'],
    ['was removed at the provider', 'update user_identities set tokens = null where user_id = $1', 'pending'],
  ])('%s', async (_, change, status) => {
    const held = await hold(DISTINCT, false)
    const first = { ...(await account(address('ann'), true)), groups: ['security'] }
    expect(await answer(held.id, first)).toBe('pending')
    await replica.db.query(change, [first.userId])
    const second = { ...(await account(address('bob'), true)), groups: ['finance'] }
    expect(await answer(held.id, second)).toBe(status)
    expect(await isSpent(held)).toBe(status === 'approved')
  })
})
