import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { newId } from '../../../controlplane/crypto/ids.ts'
import type { UserPrincipal } from '../../../controlplane/http/auth/authenticate.ts'
import type { HeldBy } from '../../../core/wire/gateway/hold.ts'
import type { ApprovalCard } from '../../../core/wire/gateway/internal.ts'
import type { ExceptionsReply, PolicyExceptionView } from '../../../core/wire/policy-exceptions.ts'
import { createManifests, type Manifests } from '../manifests/manifests.ts'
import { type Enrolled, holdBody, person, type Replica, startWorld, type World } from '../sync/harness.ts'

let world: World
let replica: Replica
let gateway: Enrolled
let manifests: Manifests

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  manifests = createManifests(world, replica)
  await manifests.apply('Gateway', 'team/local', {})
  gateway = await replica.enrol('team/local')
  await replica.command(gateway, 'agents.register', { name: 'team/bot' })
})
afterAll(() => world.stop())

const RULE = 'rules:\n  - name: merges\n    decision: require_approval\n'
async function policy(yaml = RULE): Promise<string> {
  const id = newId('policy')
  await replica.db.query(
    `insert into policies (id, org_id, name, description, priority, policy_yaml, active_yaml, version, active_version, source)
     values ($1, $2, $1, '', 100, $3, $3, 1, 1, 'api')`,
    [id, replica.orgId, yaml],
  )
  return id
}

async function held(policies: HeldBy['policies'], changes: { matched_rule?: string; source?: string } = {}) {
  const held_by = {
    ...{ common_sha256: 'a'.repeat(64), account_sha256: 'a'.repeat(64) },
    ...{ source: changes.source ?? 'policy', permission: 'perm_1', policies },
  }
  const matched_rule = changes.matched_rule ?? `${policies[0]?.rule}: merges`
  const body = holdBody({
    binding: newId('hold').padEnd(64, '0').slice(-64),
    ...{ agent: 'team/bot', held_by, matched_rule },
  })
  const reply = await replica.gateway(gateway, 'POST', '/api/gateway/holds', body)
  expect(reply.status, JSON.stringify(reply.body)).toBe(200)
  return (reply.body['approval'] as ApprovalCard).id
}

const by = (id: string, rule = id, version = 1, groups: string[] = []) => ({
  ...{ ref: `${id}@${version}`, rule, groups, distinct: false },
})
const admin = (changes: Partial<UserPrincipal> = {}) => person({ role: 'admin', ...changes })
const read = (id: string, who: UserPrincipal = admin(), query = '') =>
  replica.user(who, 'GET', `/api/dashboard/proxy-approvals/${id}/exceptions${query}`)

async function only(id: string, query = ''): Promise<PolicyExceptionView> {
  const { status, body } = await read(id, admin(), query)
  expect(status, JSON.stringify(body)).toBe(200)
  const { exceptions } = body as ExceptionsReply
  expect(exceptions).toHaveLength(1)
  return exceptions[0] as PolicyExceptionView
}

test('a policy of the API comes with the exception, its test results and the version to change; nothing is stored', async () => {
  const id = await policy()
  const approval = await held([by(id)])
  const found = await only(approval)
  expect(found).toMatchObject({
    ...{ kind: 'text', policy_id: id, version: 1, holding_rule: 'merges', rule: 'merges-exception' },
    ...{ before: RULE, tested: true },
    check: { ok: true, problems: [], tests: [{ passed: true }] },
  })
  if (found.kind === 'none') throw new Error(found.obstacle)
  expect(parse(found.after).rules).toHaveLength(2)
  expect(found.after).toContain('resource.target == "acme/site"')
  const any = await only(approval, '?target=any')
  expect(any.kind === 'none' ? '' : any.after).not.toContain('resource.target')
  const { rows } = await replica.db.query<{ yaml: string; status: string }>(
    `select policy_yaml as yaml, (select status from approvals where id = $2) as status from policies where id = $1`,
    [id, approval],
  )
  expect(rows).toEqual([{ yaml: RULE, status: 'pending' }])
})

test('a policy whose own test contradicts the exception says so before anybody saves it', async () => {
  const id = await policy(
    `${RULE}tests:\n  - name: always held\n    action: { type: codehost.pr.merge, resource: { provider: codehost, target: acme/site } }\n    agent: { name: team/bot }\n    expect: { outcome: requires_approval }\n`,
  )
  const found = await only(await held([by(id)]))
  expect(found.kind === 'none' ? null : found.check).toMatchObject({
    ok: false,
    tests: [
      { passed: true },
      {
        name: 'always held',
        passed: false,
        failure: 'expected requires_approval, got allow by rule merges-exception',
      },
    ],
  })
})

test('a policy of a manifest comes as the manifest to apply, and the applied manifest is in force', async () => {
  const name = 'team/merges'
  await manifests.apply('Policy', name, {
    priority: 7,
    gatewayRefs: [{ name: 'local' }],
    rules: [{ name: 'merges', decision: 'require_approval', approverGroups: ['leads'] }],
  })
  const { rows } = await replica.db.query<{ id: string }>('select id from policies where name = $1', [name])
  const id = rows[0]?.id ?? ''
  const found = await only(await held([by(id, name, 1, ['leads'])]))
  if (found.kind !== 'manifest') throw new Error(JSON.stringify(found))
  const manifest = parse(found.after)
  expect(manifest).toMatchObject({
    apiVersion: 'chaperone.dev/v1alpha1',
    kind: 'Policy',
    metadata: { namespace: 'team', name: 'merges' },
    spec: { priority: 7, gatewayRefs: [{ name: 'local' }] },
  })
  expect(parse(found.before).spec.rules).toHaveLength(1)
  expect(await manifests.apply('Policy', name, manifest.spec)).toMatchObject({
    accepted: true,
    tests: { passed: 1, total: 1 },
  })
  const after = (await manifests.policies(gateway)).find((entry) => entry.id === id)
  expect(after?.document.rules.map((rule) => rule.decision)).toEqual(['allow', 'require_approval'])
})

test('each policy that holds the request has its exception, and a permission that holds it too is stated', async () => {
  const [one, two] = [await policy(), await policy()]
  const approval = await held([by(one), by(two)], { source: 'permission', matched_rule: 'codehost.*' })
  const { body } = await read(approval)
  expect(body).toMatchObject({
    permission_requires_approval: true,
    exceptions: [
      { kind: 'text', policy_id: one },
      { kind: 'text', policy_id: two },
    ],
  })
})

test.each<[string, () => Promise<string>, RegExp]>([
  ['changed since', async () => held([by(await policy(), undefined, 2)]), /has changed since/],
  ['is gone', () => held([by('pol_gone')]), /is built in, was deleted/],
  [
    'has several rules for the same approvers',
    async () =>
      held([by(await policy(`${RULE}  - { name: others, decision: require_approval }\n`))], {
        matched_rule: 'codehost.*',
      }),
    /Several rules/,
  ],
  [
    'has no rule for the approvers of the request',
    async () => held([by(await policy(), undefined, 1, ['leads'])], { matched_rule: 'codehost.*' }),
    /^No rule of the policy requires approval of the groups of this request, so/,
  ],
])('a policy that %s has no exception, with the reason', async (_, approval, reason) => {
  const found = await only(await approval())
  expect(found.kind === 'none' ? found.obstacle : found).toMatch(reason)
})

test('only users who may read the policy see its text, and only approvals of their namespaces', async () => {
  const approval = await held([by(await policy())])
  const elsewhere = admin({ userId: 'user_elsewhere', roleNamespaces: new Set(['elsewhere']) })
  expect((await read(approval, elsewhere)).status).toBe(404)
  const tenant = admin({ userId: 'user_tenant', roleNamespaces: new Set(['team']) })
  const { body } = await read(approval, tenant)
  expect(JSON.stringify(body)).not.toContain('require_approval')
  expect((body as ExceptionsReply).exceptions).toMatchObject([{ kind: 'none' }])
  expect((await read('apv_none')).status).toBe(404)
})
