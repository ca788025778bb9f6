import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createClusterGroups } from '../../../controlplane/features/authentication/cluster/groups.ts'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { partsOfRight, RIGHTS, type Right } from '../../../core/wire/access/rights.ts'
import { type Cluster, openCluster } from '../../operator/kube/cluster.ts'
import { cliProgram } from '../../support/cli-program.ts'
import { eventually } from '../../support/eventually.ts'
import {
  KUBE_ASSETS_HINT,
  type KubeApiServer,
  kubeAssets,
  startKubeApiServer,
} from '../../support/kube-api-server.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { caller, startControlPlane, type TestControlPlane } from '../routes/start.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const PATH = '/api/dashboard/proxy-approvals'

describe.skipIf(kubeAssets() === null)(`users of a cluster (${KUBE_ASSETS_HINT})`, () => {
  let kube: KubeApiServer
  let cluster: Cluster
  let postgres: TestPostgres
  let plane: TestControlPlane
  let folder: string
  let database: pg.Client

  async function accountToken(namespace: string, name: string): Promise<string> {
    const made = await cluster.client.call<{ status: { token: string } }>({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    })
    return made.status.token
  }

  const bind = (namespace: string, role: string, name: string) =>
    cluster.createRaw({ base: RBAC, plural: 'rolebindings' }, namespace, {
      metadata: { name: `${role}-${name}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ kind: 'ServiceAccount', name, namespace: 'users' }],
    })

  const role = (name: string, rules: object[]) =>
    cluster.createRaw({ base: RBAC, plural: 'clusterroles' }, undefined, { metadata: { name }, rules })
  const rule = (resource: string, ...verbs: string[]) => ({
    ...{ apiGroups: ['chaperone.dev'], resources: [resource], verbs },
  })
  const as = async (name: string) =>
    caller(plane.url, { authorization: `Bearer ${await accountToken('users', name)}` })

  beforeAll(async () => {
    ;[kube, postgres] = await Promise.all([startKubeApiServer(), workerPostgres()])
    cluster = openCluster(kube)
    for (const name of ['chaperone-system', 'users', 'team', 'other']) await cluster.namespace(name)
    const accounts = { base: '/api/v1', plural: 'serviceaccounts' }
    await cluster.createRaw(accounts, 'chaperone-system', { metadata: { name: 'chaperone-control-plane' } })
    for (const name of ['ann', 'bob', 'eve', 'pat', 'una', 'vic', 'zoe'])
      await cluster.createRaw(accounts, 'users', { metadata: { name } })
    await role('reviews', [
      { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
      { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
    ])
    await role('approver', [rule('approvals', 'get', 'answer')])
    await role('stopper', [rule('killswitches', 'get', 'activate', 'lift')])
    const readable = ['records', 'explanations', 'manifests', 'killswitches', 'gateways']
    await role(
      'viewer',
      readable.map((resource) => rule(resource, 'get')),
    )
    await role('explainer', [rule('explanations', 'get')])
    // As the role view of every cluster has it.
    await role('objects', [rule('policies', 'get'), rule('gateways', 'get', 'update')])
    const rights = Object.keys(RIGHTS) as Right[]
    await role(
      'every-right',
      rights.map(partsOfRight).map(({ resource, verb }) => rule(resource, verb)),
    )
    await role('user-admin', [rule('users', 'get', 'update')])
    await role('reader', [rule('approvals', 'get'), rule('records', 'get')])
    const everywhere = (name: string, subject: object) =>
      cluster.createRaw({ base: RBAC, plural: 'clusterrolebindings' }, undefined, {
        metadata: { name: `everywhere-${name}` },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
        subjects: [subject],
      })
    const system = { kind: 'ServiceAccount', name: 'chaperone-control-plane', namespace: 'chaperone-system' }
    await everywhere('reviews', system)
    await everywhere('objects', { kind: 'ServiceAccount', name: 'pat', namespace: 'users' })
    await everywhere('every-right', { kind: 'ServiceAccount', name: 'una', namespace: 'users' })
    await everywhere('user-admin', { kind: 'ServiceAccount', name: 'zoe', namespace: 'users' })
    await everywhere('reader', { kind: 'ServiceAccount', name: 'zoe', namespace: 'users' })
    await bind('team', 'approver', 'ann')
    await bind('team', 'reader', 'bob')
    await bind('team', 'viewer', 'vic')
    await bind('team', 'stopper', 'bob')
    folder = await mkdtemp(join(tmpdir(), 'chaperone-callers-'))
    await writeFile(join(folder, 'token'), await accountToken('chaperone-system', 'chaperone-control-plane'))
    await writeFile(join(folder, 'ca.crt'), kube.caPem)
    await writeFile(join(folder, 'admin'), 'the-admin-token')
    const made = await postgres.createMigratedDatabase()
    database = new pg.Client({ connectionString: made.adminUrl })
    await database.connect()
    plane = await startControlPlane(made, {
      ...{
        KUBE_API_URL: kube.url,
        KUBE_CA_FILE: join(folder, 'ca.crt'),
        KUBE_TOKEN_FILE: join(folder, 'token'),
        ADMIN_TOKEN_FILE: join(folder, 'admin'),
      },
    })
    await database.query(
      `insert into agents (id, org_id, name, environment, runtime)
       select 'agt_' || n, id, n || '/bot', 'production', 'pod' from orgs, unnest(array['team', 'other']) as n`,
    )
    // The authorizer reads its own cache of roles and bindings.
    await eventually(
      'the bindings are in force',
      async () => {
        const [ann, zoe] = [await as('ann'), await as('zoe')]
        const answers = [await ann('GET', PATH), await zoe('GET', PATH)]
        return answers.every(({ status }) => status === 200) || null
      },
      60_000,
    )
  })
  afterAll(async () => {
    await plane?.close()
    await database?.end()
    cluster?.[Symbol.dispose]()
    await Promise.all([kube?.[Symbol.asyncDispose](), postgres?.stop()])
    await rm(folder, { recursive: true, force: true })
  })

  let held = 0
  async function hold(agent: string): Promise<string> {
    const id = `apv_callers_${held++}`
    await database.query(
      `insert into approvals (id, org_id, kind, agent, card, expires_at)
       select $1, id, 'hold', $2, $3, clock_timestamp() + interval '5 min' from orgs`,
      [
        id,
        agent,
        JSON.stringify({
          action_type: 'codehost.pr.merge',
          connector: 'codehost',
          parameters: {},
          risk_factors: [],
        }),
      ],
    )
    return id
  }
  const stateOf = async (id: string) =>
    (await database.query('select status, responded_by as by from approvals where id = $1', [id])).rows[0]

  test('RBAC says which groups may answer approvals of a namespace', async () => {
    await cluster.createRaw({ base: RBAC, plural: 'rolebindings' }, 'team', {
      metadata: { name: 'approver-night-shift' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'approver' },
      subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'night-shift' }],
    })
    const hasMembers = createClusterGroups({
      create: (path, body) => cluster.client.call({ method: 'POST', path, body }),
    })
    await eventually('the RoleBinding', async () => (await hasMembers('night-shift', 'team')) || null)
    expect(await hasMembers('night-shift', 'other')).toBe(false)
    expect(await hasMembers('night-shift', '')).toBe(false)
    expect(await hasMembers('day-shift', 'team')).toBe(false)
    // It may read approvals, and not answer them.
    expect(await hasMembers('system:serviceaccounts:users', 'team')).toBe(false)
  })

  test('answer what waits in the namespaces where they may, under their own names', async () => {
    const [own, foreign, local] = [await hold('team/bot'), await hold('other/bot'), await hold('laptop')]
    const ann = await as('ann')
    const list = await ann('GET', `${PATH}?status=pending`)
    const ids = (list.body['approvals'] as { id: string }[]).map(({ id }) => id)
    expect([ids, list.body['total']]).toEqual([[own], 1])
    for (const id of [foreign, local]) {
      const refused = await ann('POST', PATH, { id, approved: true })
      expect([refused.status, (await stateOf(id))?.status]).toEqual([404, 'pending'])
    }
    expect((await ann('POST', PATH, { id: own, approved: true })).status).toBe(200)
    const name = 'system:serviceaccount:users:ann'
    expect(await stateOf(own)).toEqual({ status: 'approved', by: name })
    const { rows } = await database.query(
      `select user_id as "userId", details->>'responded_by' as by from audit_events
       where event_type = 'approval.responded' and details->>'approval_id' = $1`,
      [own],
    )
    expect(rows[0]).toEqual({ userId: `cluster:${name}`, by: name })
  })

  test('are refused with the right that is missing', async () => {
    const id = await hold('team/bot')
    const bob = await as('bob')
    expect((await bob('GET', PATH)).status).toBe(200)
    const refused = await bob('POST', PATH, { id, approved: true })
    expect(refused.status).toBe(403)
    expect(refused.body).toMatchObject({ required_right: 'approvals/answer' })
    expect(refused.text).toContain('answer approvals.chaperone.dev')
    expect((await stateOf(id))?.status).toBe('pending')
    const [eve, demo] = [await as('eve'), '/api/dashboard/demo-action']
    expect([(await eve('GET', PATH)).status, (await eve('POST', demo, {})).status]).toEqual([403, 403])
  })

  test('who may see objects replay no requests, and make no agent or credential by a wizard', async () => {
    const pat = await as('pat')
    expect((await pat('GET', '/api/dashboard/policies')).status).toBe(200)
    const policyYaml = 'rules: [{ name: r, decision: deny }]'
    expect((await pat('POST', '/api/dashboard/policies/check', { policyYaml })).status).toBe(200)
    const replay = await pat('POST', '/api/dashboard/policies/replay', { policyYaml })
    expect([replay.status, replay.body['required_right']]).toEqual([403, 'records/get'])
    const wizard = (rest: object) =>
      pat('POST', '/api/dashboard/gateway', { gateway: { name: 'team/new' }, ...rest })
    const made = await wizard({ agent: { name: 'team/spy', create: true } })
    expect([made.status, made.body['required_right']]).toEqual([403, 'agents/update'])
    const stored = await wizard({ connectors: [{ type: 'codehost', token: 't', accessRule: 'allow_all' }] })
    expect([stored.status, stored.body['required_right']]).toEqual([403, 'credentials/set'])
  })

  test('who may update users give no role beyond the rights that RBAC gives them', async () => {
    const [una, zoe, users] = [await as('una'), await as('zoe'), '/api/dashboard/users']
    const invite = (by: typeof una, given: string) =>
      by('POST', users, { action: 'invite', email: `${given}@example.com`, role: given })
    expect((await zoe('GET', users)).status).toBe(200)
    const refused = await invite(zoe, 'admin')
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('settings/update')])
    expect((await invite(zoe, 'viewer')).status).toBe(403)
    expect((await invite(una, 'admin')).status).toBe(200)
    expect((await invite(una, 'owner')).status).toBe(403)
  })

  test('of no right at all probe no gateway, and others only those of their namespaces', async () => {
    const [eve, bob, probe] = [await as('eve'), await as('bob'), '/api/dashboard/test-gateway']
    expect((await eve('GET', probe)).status).toBe(403)
    const answer = await bob('GET', probe)
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('no gateway is registered')])
  })

  test('read objects of the namespaces of their rights, and change others only with rights in all namespaces', async () => {
    await database.query(
      `insert into gateways (id, org_id, name, spec, source)
       select 'gw_' || n, id, n || '/default', $1, 'kubernetes' from orgs, unnest(array['team', 'other']) as n`,
      [JSON.stringify(GatewaySpec.parse({}))],
    )
    await database.query('update config_version set version = version + 1')
    await database.query("select pg_notify('chaperone', (select version::text from config_version))")
    const [zoe, bob] = [await as('zoe'), await as('bob')]
    const overviewOf = async (call: typeof bob) => (await call('GET', '/api/dashboard/overview')).body
    const names = (body: Record<string, unknown>) =>
      (body['gateways'] as { name: string }[]).map(({ name }) => name)
    expect(names(await overviewOf(zoe))).toEqual(['other/default', 'team/default'])
    const limited = await overviewOf(bob)
    expect([names(limited), limited['agents']]).toEqual([['team/default'], { active: 1, suspended: 0 }])
    const explain = (agent: string) =>
      bob('GET', `/api/dashboard/explain?method=GET&url=https://a.test/&agent=${agent}`)
    // Bound to nothing that allows it.
    expect((await explain('team/bot')).status).toBe(403)
    await bind('team', 'explainer', 'bob')
    await eventually(
      'the right is in force',
      async () => ((await explain('team/bot')).status === 200 ? true : null),
      60_000,
    )
    expect((await explain('other/bot')).status).toBe(404)
    const settings = await bob('GET', '/api/dashboard/settings')
    expect([settings.status, settings.body['required_right']]).toEqual([403, 'settings/get'])
  })

  test('ask for status, traffic and an explanation with the rights of a viewer in one namespace', async () => {
    const token = await accountToken('users', 'vic')
    const program = cliProgram()
    const chaperone = async (...args: string[]) => {
      const env = { ...process.env, CHAPERONE_URL: plane.url, CHAPERONE_TOKEN: token }
      const child = spawn(process.execPath, [program, ...args], { env })
      const [out, error] = await Promise.all([text(child.stdout), text(child.stderr)])
      return out + error
    }
    await database.query(`insert into kill_switches (org_id, scope, source, reason, activated_by)
      select id, 'namespace:' || n, 'test', n || ' incident', 'test' from orgs, unnest(array['team', 'other']) as n`)
    await eventually('the kill switches are in force', async () =>
      (await chaperone('status')).includes('team incident') ? true : null,
    )
    const status = await chaperone('status')
    expect(status).toContain('not shown: this requires the right to get approvals')
    expect(status).not.toContain('other')
    expect(await chaperone('traffic')).toContain('No matching records')
    const explain = (agent: string) => chaperone('explain', 'GET', 'https://a.test/', '--agent', agent)
    expect(await explain('team/bot')).toContain('team/bot')
    expect(await explain('other/bot')).toContain('There is no agent other/bot')
    await database.query("delete from kill_switches where source = 'test'")
    await eventually('the kill switches are lifted', async () =>
      (await chaperone('status')).includes('kill switch    not active') ? true : null,
    )
  }, 120_000)

  test('are not authenticated with a token that the cluster does not confirm, or with another audience', async () => {
    const made = await cluster.client.call<{ status: { token: string } }>({
      method: 'POST',
      path: '/api/v1/namespaces/users/serviceaccounts/ann/token',
      body: {
        ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' },
        spec: { audiences: ['chaperone-control-plane'] },
      },
    })
    const token = await accountToken('users', 'ann')
    for (const wrong of [made.status.token, `${token.slice(0, -4)}AAAA`, 'x', 'a.b.c']) {
      const answer = await caller(plane.url, { authorization: `Bearer ${wrong}` })('GET', PATH)
      expect(answer.status).toBe(401)
    }
    expect(plane.log()).not.toContain(token)
  })

  test('are not authenticated when a governed pod presents the token of a ServiceAccount with rights', async () => {
    await cluster.createRaw({ base: '/api/v1', plural: 'pods' }, 'users', {
      metadata: { name: 'agent' },
      spec: {
        serviceAccountName: 'ann',
        automountServiceAccountToken: false,
        containers: [{ name: 'a', image: 'x' }],
      },
    })
    const pod = await cluster.client.call<{ metadata: { uid: string } }>({
      method: 'GET',
      path: '/api/v1/namespaces/users/pods/agent',
    })
    const made = await cluster.client.call<{ status: { token: string } }>({
      method: 'POST',
      path: '/api/v1/namespaces/users/serviceaccounts/ann/token',
      body: {
        ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' },
        spec: { boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'agent', uid: pod.metadata.uid } },
      },
    })
    const bot = caller(plane.url, { authorization: `Bearer ${made.status.token}` })
    expect((await bot('GET', PATH)).status).toBe(200)
    await database.query(
      `insert into pod_identities (pod_uid, namespace, name, agent, gateway) values ($1, 'users', 'agent', 'users/ann', 'users/default')`,
      [pod.metadata.uid],
    )
    expect((await bot('GET', PATH)).status).toBe(401)
    await database.query('delete from pod_identities')
  })

  test('are not authenticated by a token of a ServiceAccount that a governed pod uses, because the pod may have created or read it', async () => {
    const id = await hold('team/bot')
    const ann = await as('ann')
    expect((await ann('GET', PATH)).status).toBe(200)
    await database.query(
      `insert into pod_identities (pod_uid, namespace, name, agent, gateway, service_account, deleted_at)
       values ('uid-of-agent-0', 'users', 'agent-0', 'users/agent', 'users/default', 'ann', clock_timestamp())`,
    )
    for (const call of [ann, await as('ann')]) {
      const answers = [
        await call('GET', PATH),
        await call('POST', PATH, { id, approved: true }),
        await call('GET', '/api/auth/me'),
        await call('GET', '/api/dashboard/overview'),
        await call('POST', '/api/dashboard/kill-switch', {
          active: true,
          scope: 'namespace:team',
          reason: 'x',
        }),
      ]
      expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401])
    }
    expect((await stateOf(id))?.status).toBe('pending')
    expect((await (await as('bob'))('GET', PATH)).status).toBe(200)
    await database.query('delete from pod_identities')
    expect((await ann('GET', PATH)).status).toBe(200)
  })

  test('present new tokens while another connection of the same port-forward presents wrong ones', async () => {
    const agents = [new Agent({ connections: 1 }), new Agent({ connections: 1 })] as const
    const present = async (dispatcher: Agent, token: string) => {
      const reply = await request(plane.url + PATH, {
        dispatcher,
        headers: { authorization: `Bearer ${token}` },
      })
      await reply.body.dump()
      return reply.statusCode
    }
    const answers: number[] = []
    for (let at = 0; at < 30; at++) answers.push(await present(agents[0], `a.${at}.c`))
    expect([new Set(answers.slice(0, 20)), new Set(answers.slice(21))]).toEqual([
      new Set([401]),
      new Set([503]),
    ])
    expect(await present(agents[1], await accountToken('users', 'zoe'))).toBe(200)
    for (const agent of agents) await agent.destroy()
  })

  describe('with rights on kill switches in one namespace', () => {
    const KILL = '/api/dashboard/kill-switch'
    const admin = (body: object) =>
      plane.call('POST', KILL, body, { authorization: 'Bearer the-admin-token' })
    const scopesOf = ({ body }: { body: Record<string, unknown> }) =>
      (body['effective'] as { scope: string; source: string }[]).map(
        ({ scope, source }) => `${scope} ${source}`,
      )

    test.each([
      'namespace:team',
      'Namespace: TEAM',
      'agent:team/bot',
      'AGENT:Team/Bot',
      'gateway:team/default',
      'agent:team/nobody',
    ])('stop and lift %s', async (scope) => {
      const bob = await as('bob')
      const on = await bob('POST', KILL, { active: true, scope, reason: 'incident' })
      expect(on.status).toBe(200)
      expect(scopesOf(on)).toHaveLength(1)
      expect(scopesOf(on)[0]).toContain('kubectl:team')
      expect(JSON.stringify(on.body)).not.toContain('other')
      const off = await bob('POST', KILL, { active: false, scope })
      expect([off.status, scopesOf(off)]).toEqual([200, []])
    })

    test.each([
      undefined,
      'all',
      'ALL',
      '',
      'team',
      'bot',
      'team/bot',
      'namespace:other',
      'namespace:',
      'namespace:team/../other',
      'agent:bot',
      'agent:other/bot',
      'agent:/team/bot',
      'agent:*',
      'gateway:default',
      'gateway:other/default',
      'connector:codehost',
      'connector:team/codehost',
    ])('do not stop %s', async (scope) => {
      const bob = await as('bob')
      const before = scopesOf(await admin({ active: false, scope: 'agent:no-such' }))
      for (const active of [true, false]) {
        const refused = await bob('POST', KILL, {
          active,
          reason: 'x',
          ...(scope === undefined ? {} : { scope }),
        })
        expect([400, 403]).toContain(refused.status)
      }
      expect(scopesOf(await admin({ active: false, scope: 'agent:no-such' }))).toEqual(before)
    })

    test('lift no kill switch of the platform team there, and read none of other namespaces', async () => {
      for (const scope of ['namespace:team', 'namespace:other', 'all'])
        expect((await admin({ active: true, scope, reason: 'platform' })).status).toBe(200)
      const bob = await as('bob')
      const off = await bob('POST', KILL, { active: false, scope: 'namespace:team' })
      expect(scopesOf(off).sort()).toEqual(['all cli', 'namespace:team cli'])
      expect(scopesOf(await bob('GET', KILL)).sort()).toEqual(['all cli', 'namespace:team cli'])
      for (const scope of ['namespace:team', 'namespace:other', 'all']) await admin({ active: false, scope })
      expect(scopesOf(await bob('GET', KILL))).toEqual([])
    })
  })
})
