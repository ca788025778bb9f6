import { insertTraffic } from '../../../controlplane/features/traffic/store.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import { OPERATOR_TOKEN, startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at, type Call, caller, PASSWORD, register } from '../routes/start.ts'
import { RISKY } from '../v1/world.ts'

export type Tenant = 'alpha' | 'omega'
export type Role = 'viewer' | 'member' | 'admin' | 'owner'

/** Ids and names of everything that a tenant has, as another tenant could have learned them. */
export type Things = Readonly<
  Record<
    | 'namespace'
    | 'agent'
    | 'agentId'
    | 'gateway'
    | 'gatewayId'
    | 'connector'
    | 'connectorId'
    | 'dashboardConnectorId'
    | 'permissionId'
    | 'dashboardPermissionId'
    | 'policy'
    | 'policyId'
    | 'record'
    | 'approval'
    | 'action'
    | 'actionApproval',
    string
  >
>

/** One installation with the objects, requests and approvals of two tenants; each text of a tenant contains its name. */
export type TwoTenants = AsyncDisposable & {
  readonly here: TestInstallation
  readonly things: Readonly<Record<Tenant, Things>>
  /** A user whose role counts in these namespaces; null = everywhere. */
  user(role: Role, namespaces: readonly string[] | null): Promise<Call>
  /** The cookie of such a user. */
  session(role: Role, namespaces: readonly string[] | null): Promise<string>
  /** Everything stored that is of the tenant or of the installation, as one text. */
  state(tenant: Tenant): Promise<string>
}

export async function startTwoTenants(): Promise<TwoTenants> {
  const here = await startTestInstallation()
  await register(here.plane.call, 'owner@example.com')
  const things = { alpha: await furnish(here, 'alpha'), omega: await furnish(here, 'omega') }
  let users = 0
  const create = async (role: Role, namespaces: readonly string[] | null): Promise<string> => {
    const email = `user-${users++}@example.com`
    const { body } = await here.admin('POST', '/api/dashboard/users', { action: 'invite', email, role })
    await register(here.plane.call, email, { invite_token: at(body, 'invite_token') })
    await here.sql('update users set namespaces = $2 where email = $1', [email, namespaces])
    return email
  }
  return {
    ...{ here, things },
    user: async (role, namespaces) => here.plane.signIn(await create(role, namespaces)),
    async session(role, namespaces) {
      const email = await create(role, namespaces)
      const { headers } = await here.plane.call('POST', '/api/auth/login', { email, password: PASSWORD })
      return headers.get('set-cookie')?.split(';')[0] ?? ''
    },
    state: (tenant) => stateOf(here, tenant),
    [Symbol.asyncDispose]: () => here[Symbol.asyncDispose](),
  }
}

async function furnish(here: TestInstallation, tenant: Tenant): Promise<Things> {
  const apply = manifestsOf(here, tenant)
  await apply('Gateway', 'main', {})
  const secret = { credential: { secretRef: { name: `${tenant}-token`, key: 'token' } } }
  await apply('Connector', 'codehost', { type: 'codehost', ...secret }, `ghp_${tenant}`)
  const refs = { gatewayRefs: [{ name: 'main' }] }
  const allow = { connectorType: 'codehost', actionPattern: 'codehost.pr.merge', decision: 'allow' }
  await apply('Permission', 'rules', {
    ...refs,
    agents: ['bot'],
    rules: [{ ...allow, reason: `${tenant} reason` }],
  })
  await apply('Policy', 'guard', {
    ...refs,
    ...{ description: `${tenant} description`, scope: { actions: ['codehost.branch.delete'] } },
    rules: [{ name: `${tenant}-rule`, decision: 'deny' }],
  })
  const gateway = `${tenant}/main`
  const agent = `${tenant}/bot`
  const made = await here.admin('POST', '/api/dashboard/agents', {
    ...{ name: agent, runtime: `${tenant} runtime`, environment: 'production', gateway },
  })
  const chat = { type: 'chat', token: `xoxb-${tenant}`, gateway, domains: [`chat.${tenant}.test`] }
  const connector = await here.admin('POST', '/api/dashboard/connectors', chat)
  const permission = await here.admin('POST', '/api/dashboard/permissions', {
    ...{ gateway_name: gateway, connector_type: 'codehost', action_pattern: 'codehost.issue.*' },
    ...{ decision: 'deny', agent },
  })
  const bot = caller(here.plane.url, { authorization: `Bearer ${at(made.body, 'api_key')}` })
  const acted = await bot('POST', '/api/v1/actions', {
    action_spec: { ...RISKY, resource: { ...RISKY.resource, target: `acme/${tenant}` } },
  })
  const record = await recordOf(here, tenant)
  const approval = await holdOf(here, tenant)
  const id = async (table: string, name: string) =>
    at<string>(await here.sql(`select id from ${table} where name = $1`, [name]), 0, 'id')
  const owned = await here.sql('select id from permissions where owner = $1', [`Permission/${tenant}/rules`])
  const things: Things = {
    ...{ namespace: tenant, agent, gateway, record, approval },
    ...{ connector: `${tenant}/codehost`, policy: `${tenant}/guard` },
    agentId: at(made.body, 'agent_id'),
    gatewayId: await id('gateways', gateway),
    connectorId: await id('connectors', `${tenant}/codehost`),
    dashboardConnectorId: at(connector.body, 'id'),
    permissionId: at(owned, 0, 'id'),
    dashboardPermissionId: at(permission.body, 'id'),
    policyId: await id('policies', `${tenant}/guard`),
    action: at(acted.body, 'action_request_id'),
    actionApproval: at(acted.body, 'approval', 'id'),
  }
  const missing = Object.entries(things).filter(([, value]) => typeof value !== 'string')
  if (missing.length > 0) throw new Error(`not made: ${missing.join()} ${connector.text} ${acted.text}`)
  return things
}

function manifestsOf(here: TestInstallation, namespace: Tenant) {
  const operator = caller(here.plane.url, { authorization: `Bearer ${OPERATOR_TOKEN}` })
  return async (kind: string, name: string, spec: object, credential?: string) => {
    const { status, text, body } = await operator(
      'PUT',
      `/api/operator/objects/${kind}/${namespace}/${name}`,
      {
        ...{ uid: `${kind}-${namespace}-${name}`, generation: 1, source: 'kubernetes' },
        managed_by: `kubernetes ${kind} ${namespace}/${name}`,
        resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace }, spec },
        ...(credential === undefined ? {} : { credential }),
      },
    )
    if (status !== 200 || body['accepted'] !== true) throw new Error(text)
  }
}

let seq = 0

/** One record of the agent, one without an agent, and one of a host that no connector owns. */
async function recordOf({ sql }: TestInstallation, tenant: Tenant): Promise<string> {
  const [org] = await sql('select id from orgs')
  const common = {
    ...{ process_id: `proc_${tenant}`, time: new Date().toISOString(), gateway: `${tenant}/main` },
    ...{ connector: `${tenant}/codehost`, action_type: 'codehost.pr.merge', decision: 'DENY', would: null },
    ...{ note: null, reason: 'permission', approval_id: null, act_id: null, method: 'PUT' },
    ...{ host: `api.${tenant}.test`, path: `/${tenant}/path`, status: 403, error_type: null },
    ...{ latency_ms: 1, overhead_ms: 1, bytes_in: 0, bytes_out: 0, permission: null, policies: [] },
    ...{ snapshot_version: 1, transport: 'forward' },
  }
  const unowned = {
    connector: null,
    action_type: null,
    reason: 'unknown_host',
    host: `unowned.${tenant}.test`,
  }
  const records = [{}, { agent: null }, unowned].map((change) => ({
    ...{ ...common, agent: `${tenant}/bot` },
    ...{ id: `rec_${tenant}_${seq}`, seq: seq++ },
    ...change,
  }))
  const query = async (text: string, values: readonly unknown[] = []) => {
    const rows = await sql(text, [...values])
    return { rows, rowCount: rows.length }
  }
  await insertTraffic({ query } as never, at(org, 'id'), records as unknown as TrafficRecord[])
  return at(records, 0, 'id')
}

async function holdOf({ sql }: TestInstallation, tenant: Tenant): Promise<string> {
  const id = `apv_${tenant}_hold`
  const card = { action_type: 'codehost.pr.merge', connector: `${tenant}/codehost`, risk_factors: [] }
  await sql(
    `insert into approvals (id, org_id, kind, agent, card, expires_at)
     select $1, id, 'hold', $2, $3, clock_timestamp() + interval '1 hour' from orgs`,
    [id, `${tenant}/bot`, JSON.stringify({ ...card, parameters: { title: `${tenant} parameter` } })],
  )
  return id
}

/** What an attempt could change. Sessions, failed sign-ins and times of use are no one's things. */
async function stateOf({ sql }: TestInstallation, tenant: Tenant): Promise<string> {
  const own = (column: string) => `split_part(${column}, '/', 1) = '${tenant}'`
  const owned = `exists (select 1 from gateways g where g.id = any(gateway_ids) and ${own('g.name')})`
  const tables = [
    `select to_jsonb(t) - 'last_seen_at' as row from agents t where ${own('name')}`,
    `select to_jsonb(t) as row from gateways t where ${own('name')}`,
    `select to_jsonb(t) as row from connectors t where ${own('name')} or ${owned}`,
    `select to_jsonb(t) as row from permissions t join gateways g on g.id = t.gateway_id where ${own('g.name')}`,
    `select to_jsonb(t) as row from policies t where ${own('name')} or source = 'api'`,
    `select to_jsonb(t) as row from approvals t where ${own('agent')}`,
    `select to_jsonb(t) as row from action_requests t join agents a on a.id = t.agent_id where ${own('a.name')}`,
    `select to_jsonb(t) as row from manifest_objects t where namespace = '${tenant}'`,
    `select to_jsonb(t) as row from kill_switches t where scope not like '%${tenant === 'omega' ? 'alpha' : 'omega'}%'`,
    `select to_jsonb(t) as row from audit_events t where namespace = '${tenant}'`,
    'select to_jsonb(t) as row from settings t',
    'select to_jsonb(t) as row from users t',
    'select to_jsonb(t) as row from invitations t',
    'select to_jsonb(t) as row from signing_keys t',
    `select to_jsonb(t) as row from traffic t where ${own('gateway')}`,
  ]
  const rows = await Promise.all(
    tables.map((text) => sql(`select row from (${text}) as all_rows order by row::text`)),
  )
  return JSON.stringify(rows)
}
