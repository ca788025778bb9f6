import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { writesConfiguration } from '../../../controlplane/features/manifests/editing/editing-guard.ts'
import { ManifestResource } from '../../../core/crd/schemas.ts'
import { isRight, RIGHTS, type Right } from '../../../core/wire/access/rights.ts'
import { ENROL_TOKEN, OPERATOR_TOKEN, startTestInstallation, type TestInstallation } from './installation.ts'
import { type Answer, at, caller } from './start.ts'

function writes(right: Right): boolean {
  return 'writes' in RIGHTS[right]
}

const DENY = 'rules: [{ name: a, decision: deny, conditions: ["action.type == \'x.y\'"] }]\n'
const FAILING = `${DENY}tests:\n  - { name: t, action: { type: x.y, resource: { provider: x } }, expect: { outcome: allow } }\n`
const CONNECTOR = { type: 'generic', token: 'canary-token', domains: ['new.example.com'] }
const RULE = {
  gateway_name: 'team/edge',
  connector_type: 'generic',
  action_pattern: 'generic.*',
  decision: 'deny',
}
const TABLES = ['gateways', 'connectors', 'permissions', 'policies']

let here: TestInstallation
let ids: Readonly<Record<string, string>>

beforeAll(async () => {
  here = await startTestInstallation({ DASHBOARD_EDITING: 'yaml' })
  const refs = { gatewayRefs: [{ name: 'edge' }] }
  const allow = { connectorType: 'generic', actionPattern: 'generic.read', decision: 'allow' }
  await put('Gateway', {})
  await put('Connector', {
    type: 'generic',
    domains: ['a.example.com'],
    credential: { secretRef: { name: 's' } },
    ...refs,
  })
  await put('Permission', { ...refs, agents: ['team/a', 'team/b'], rules: [allow] })
  await put('Policy', { rules: [{ name: 'a', decision: 'deny' }], ...refs })
  const list = async (path: string, kind: string, name: string) => {
    const { body } = await here.admin('GET', `/api/dashboard/${path}`)
    const rows = at<Record<string, string>[]>(body, kind)
    return rows.find((row) => [row['name'], row['agent']].includes(name))?.['id'] ?? `no ${name}`
  }
  ids = {
    gateway: await list('gateway', 'gateways', 'team/edge'),
    local: await list('gateway', 'gateways', 'default/local'),
    connector: await list('connectors', 'connectors', 'team/edge'),
    permission: await list('permissions', 'permissions', 'team/a'),
    policy: await list('policies', 'policies', 'team/edge'),
    builtIn: await list('policies', 'policies', 'default-allow-safe'),
  }
})
afterAll(() => here?.[Symbol.asyncDispose]())

async function put(kind: string, spec: object): Promise<void> {
  const operator = caller(here.plane.url, { authorization: `Bearer ${OPERATOR_TOKEN}` })
  const answer = await operator('PUT', `/api/operator/objects/${kind}/team/edge`, {
    ...{ uid: kind, generation: 1, source: 'kubernetes', managed_by: `kubernetes ${kind} team/edge` },
    resource: {
      apiVersion: 'chaperone.dev/v1alpha1',
      kind,
      metadata: { name: 'edge', namespace: 'team' },
      spec,
    },
    ...(kind === 'Connector' ? { credential: 'canary-secret' } : {}),
  })
  expect(answer.body, answer.text).toMatchObject({ accepted: true })
}

/** Everything that an edit could have left behind. */
async function contents(): Promise<string> {
  const tables = [...TABLES, 'agents', 'policy_versions', 'audit_events', 'config_version']
  const rows = await Promise.all(tables.map((name) => here.sql(`select * from ${name} order by 1`)))
  return JSON.stringify(rows)
}

function manifestsIn(answer: Answer): ManifestResource[] {
  return parseAllDocuments(at(answer.body, 'manifest'))
    .map((document) => document.toJS())
    .filter((value) => value !== null)
    .map((value) => ManifestResource.parse(value))
}

type Sample = {
  readonly body?: object
  readonly query?: string
  /** `Kind namespace/name` of the manifests in the answer. */
  readonly expect: readonly string[]
  readonly removed?: readonly string[]
  readonly contains?: string
}

/** For each route that writes one of the four kinds; a new one has to be added here. */
const SAMPLES: Readonly<Record<string, () => readonly Sample[]>> = {
  'POST /api/dashboard/gateway': () => [
    { body: { gateway: { name: 'team/new' } }, expect: ['Gateway team/new'] },
    {
      body: {
        gateway: { name: 'team/other' },
        agent: { name: 'z', create: true },
        connectors: [{ ...CONNECTOR, accessRule: 'allow_all' }],
      },
      expect: ['Gateway team/other', 'Connector team/generic', 'Permission team/other'],
    },
    {
      body: { gateway: { name: 'team/edge', enforcementLevel: 'monitor' } },
      expect: ['Gateway team/edge'],
      contains: 'enforcementLevel: monitor',
    },
  ],
  'PATCH /api/dashboard/gateway': () => [
    {
      body: { gateway_id: ids['gateway'], enforcementLevel: 'monitor' },
      expect: ['Gateway team/edge'],
      contains: 'enforcementLevel: monitor',
    },
    { body: { gateway_id: ids['local'], enforcementLevel: 'monitor' }, expect: ['Gateway default/local'] },
  ],
  'POST /api/dashboard/setup': () => [
    {
      body: {
        agent: { name: 'quick', runtime: 'x', environment: 'production' },
        connectors: [{ ...CONNECTOR, accessRule: 'allow_all' }],
      },
      expect: ['Connector default/generic', 'Permission default/local-quick'],
    },
  ],
  'POST /api/dashboard/connectors': () => [
    {
      body: { ...CONNECTOR, gateway: 'team/edge' },
      expect: ['Connector team/generic'],
      contains: 'secretRef',
    },
  ],
  'DELETE /api/dashboard/connectors': () => [
    { query: `connector_id=${ids['connector']}`, expect: [], removed: ['Connector team/edge'] },
  ],
  'POST /api/dashboard/permissions': () => [
    { body: RULE, expect: ['Permission team/edge-2'] },
    // Of a manifest for two agents, one differs now.
    {
      body: { ...RULE, action_pattern: 'generic.read', agent: 'team/a' },
      expect: ['Permission team/edge', 'Permission team/edge-2'],
    },
  ],
  'DELETE /api/dashboard/permissions': () => [
    { query: `permission_id=${ids['permission']}`, expect: ['Permission team/edge'], contains: 'team/b' },
  ],
  'POST /api/dashboard/policies': () => [
    {
      body: { name: 'mine', policyYaml: DENY, priority: 7 },
      expect: ['Policy default/mine'],
      contains: 'priority: 7',
    },
    { body: { name: 'failing', policyYaml: FAILING }, expect: ['Policy default/failing'] },
  ],
  'PATCH /api/dashboard/policies': () => [
    {
      body: { policy_id: ids['policy'], enabled: false },
      expect: ['Policy team/edge'],
      contains: 'mode: disabled',
    },
    {
      body: { policy_id: ids['policy'], policyYaml: FAILING },
      expect: ['Policy team/edge'],
      contains: 'x.y',
    },
    { body: { policy_id: ids['builtIn'], priority: 99 }, expect: ['Policy default/default-allow-safe'] },
  ],
  'DELETE /api/dashboard/policies': () => [
    { query: `policy_id=${ids['policy']}`, expect: [], removed: ['Policy team/edge'] },
    {
      query: `policy_id=${ids['builtIn']}`,
      expect: ['Policy default/default-allow-safe'],
      contains: 'mode: disabled',
    },
  ],
  'POST /api/dashboard/import': () => [
    {
      body: {
        version: '1.0',
        agents: [{ name: 'imported' }],
        policies: [{ name: 'imported', policyYaml: DENY }],
      },
      expect: ['Policy default/imported'],
    },
  ],
}

/** Secrets are not part of a manifest, so these routes work in both modes. */
const WITHOUT_MANIFEST = [
  'DELETE /api/dashboard/credentials',
  'POST /api/dashboard/credentials/rotate',
  'POST /api/dashboard/credentials/test',
  'PUT /api/dashboard/credentials',
]

describe('with DASHBOARD_EDITING=yaml', () => {
  test.each(Object.keys(SAMPLES))('%s answers the manifest and changes nothing', async (name) => {
    const [method = '', path = ''] = name.split(' ')
    for (const sample of SAMPLES[name]?.() ?? []) {
      const before = await contents()
      const answer = await here.admin(
        method,
        sample.query === undefined ? path : `${path}?${sample.query}`,
        sample.body,
      )
      expect(answer.status, `${JSON.stringify(sample)}: ${answer.text}`).toBe(409)
      expect(answer.body).toMatchObject({ error: 'Edited in YAML', editing: 'yaml' })
      const names = manifestsIn(answer).map(
        ({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`,
      )
      expect(names.toSorted(), answer.text).toEqual([...sample.expect].toSorted())
      const removed = at<Record<string, string>[]>(answer.body, 'removed')
      expect(removed.map((one) => `${one['kind']} ${one['namespace']}/${one['name']}`)).toEqual(
        sample.removed ?? [],
      )
      expect(at(answer.body, 'manifest')).toContain(sample.contains ?? '')
      expect(answer.text).not.toContain('canary')
      expect(await contents()).toBe(before)
    }
  })

  test('every route whose right writes one of the four kinds has a sample above', async () => {
    const { body } = await here.plane.call('GET', '/api/openapi.json')
    const operations = Object.entries(at<Record<string, Record<string, object>>>(body, 'paths')).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, one]) => ({
          name: `${method.toUpperCase()} ${path}`,
          right: at(one, 'x-required-right'),
        })),
    )
    const writing = operations.filter(({ right }) => isRight(right) && writes(right))
    const covered = [...Object.keys(SAMPLES), ...WITHOUT_MANIFEST]
    expect(writing.map(({ name }) => name).toSorted()).toEqual(covered.toSorted())
    expect(Object.keys(RIGHTS).filter((right) => isRight(right) && writes(right))).toHaveLength(6)
  })

  test.each([
    ['connectors.add', { ...CONNECTOR, domains: ['c.example.com'] }, 'Connector'],
    ['permissions.set', { ...RULE, gateway_name: 'local', decision: 'deny' }, 'Permission'],
    ['enforcement', { level: 'monitor' }, 'Gateway'],
  ])('the command %s of a gateway answers the manifest', async (command, input, kind) => {
    const headers = { authorization: `Bearer ${ENROL_TOKEN}`, 'x-process-id': 'process' }
    const before = await contents()
    const reply = await caller(here.plane.url, headers)('POST', '/api/gateway/commands', { command, input })
    const answer = {
      ...reply,
      status: at<number>(reply.body, 'status'),
      body: at<Answer['body']>(reply.body, 'body'),
    }
    expect([answer.status, at(answer.body, 'editing')], reply.text).toEqual([409, 'yaml'])
    expect(manifestsIn(answer).map((one) => one.kind)).toEqual([kind])
    expect(await contents()).toBe(before)
  })

  test.each([
    ['an agent', 'POST', 'agents', { name: 'fine', runtime: 'x', environment: 'development' }],
    ['a kill switch', 'POST', 'kill-switch', { active: true, scope: 'agent:nobody', reason: 'test' }],
    ['lifting the kill switch', 'POST', 'kill-switch', { active: false, scope: 'agent:nobody' }],
    ['a setting', 'PATCH', 'settings', { slack_channel: undefined }],
    ['an invited user', 'POST', 'users', { action: 'invite', email: 'ann@example.com', role: 'member' }],
    ['agents of a bundle', 'POST', 'import', { version: '1.0', agents: [{ name: 'bundled' }] }],
    ['the address of a gateway', 'PATCH', 'gateway', { port: 9_999 }],
  ])('%s can be changed as before', async (_name, method, path, body) => {
    const given = path === 'gateway' ? { gateway_id: ids['local'], ...body } : body
    const answer = await here.admin(method, `/api/dashboard/${path}`, given)
    expect(answer.status === 409, answer.text).toBe(false)
  })

  test('an approval is answered, and a user suspended', async () => {
    await here.sql(
      `insert into approvals (id, org_id, kind, agent, card, expires_at)
       select 'apv_yaml', id, 'hold', 'team/a', '{"action_type":"x.y","risk_factors":[]}', clock_timestamp() + interval '1 hour' from orgs`,
    )
    const answer = { id: 'apv_yaml', approved: true }
    const approved = await here.admin('POST', '/api/dashboard/proxy-approvals', answer)
    expect([approved.status, approved.body['status']], approved.text).toEqual([200, 'approved'])
    await here.sql(
      "insert into users (id, org_id, email, name, role, password_hash, groups) select 'usr_yaml', id, 'eve@example.com', 'Eve', 'member', 'x', '{}' from orgs",
    )
    const suspend = { action: 'suspend', user_id: 'usr_yaml' }
    const suspended = await here.admin('POST', '/api/dashboard/users', suspend)
    expect(suspended.status, suspended.text).toBe(200)
    expect(await here.sql("select status from users where id = 'usr_yaml'")).toEqual([
      { status: 'suspended' },
    ])
  })

  test('an agent is suspended, revoked and gets a new key', async () => {
    const made = await here.admin('POST', '/api/dashboard/agents', {
      name: 'kept',
      runtime: 'x',
      environment: 'development',
    })
    for (const action of ['suspend', 'activate', 'rotate_key', 'revoke']) {
      const answer = await here.admin('PATCH', '/api/dashboard/agents', {
        agent_id: at(made.body, 'agent_id'),
        action,
      })
      expect(answer.status, answer.text).toBe(200)
    }
  })

  test('pages know, and the answer to a text that does not compile is the same as ever', async () => {
    expect((await here.admin('GET', '/api/auth/me')).body).toMatchObject({ editing: 'yaml' })
    const answer = await here.admin('POST', '/api/dashboard/policies', {
      name: 'x',
      policyYaml: 'rules: 7\n',
    })
    expect(answer.status).toBe(400)
  })

  test('manifests are applied as before, and what the answer says can be applied', async () => {
    const answer = await here.admin('PATCH', '/api/dashboard/policies', {
      policy_id: ids['policy'],
      priority: 321,
    })
    const [policy] = manifestsIn(answer)
    const operator = caller(here.plane.url, { authorization: `Bearer ${OPERATOR_TOKEN}` })
    const applied = await operator('PUT', '/api/operator/objects/Policy/team/edge', {
      ...{ uid: 'Policy', generation: 2, source: 'kubernetes', managed_by: 'kubernetes Policy team/edge' },
      resource: policy,
    })
    expect(applied.body, applied.text).toMatchObject({ accepted: true })
    expect(await here.sql("select priority from policies where name = 'team/edge'")).toEqual([
      { priority: 321 },
    ])
  })
})

test.each([
  ['insert into policies (id) values ($1)', true],
  ['INSERT\n  INTO "gateways" (id) values (1)', true],
  ['update only permissions set decision = $1', true],
  ['update public.connectors set name = $1', true],
  ['delete from "public"."policies"', true],
  ['with gone as (delete from permissions returning *) select * from gone', true],
  ['merge into connectors using x on true when matched then delete', true],
  ['truncate gateways', true],
  ['select * from policies for update', false],
  ['insert into policy_versions (policy_id) values ($1)', false],
  ['update gateway_processes set x = 1', false],
  ['insert into manifest_objects (kind) values ($1)', false],
])('%s writes configuration: %s', (statement, expected) => {
  expect(writesConfiguration(statement)).toBe(expected)
})
