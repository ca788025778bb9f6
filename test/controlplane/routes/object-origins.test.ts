import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { OPERATOR_TOKEN, startTestInstallation, type TestInstallation } from './installation.ts'
import { at, type Call, caller, PASSWORD, register } from './start.ts'

const COMMIT = '0123456789abcdef0123456789abcdef01234567'
const RULES = 'rules: [{ name: a, decision: deny, conditions: ["action.type == \'x.y\'"] }]\n'

let installation: TestInstallation
let page: Call
let operator: Call

beforeAll(async () => {
  installation = await startTestInstallation()
  const { plane, admin } = installation
  await register(plane.call, 'owner@example.com')
  await admin('POST', '/api/dashboard/users', {
    email: 'owner@example.com',
    action: 'set_role',
    role: 'owner',
  })
  await installation.sql("update users set role = 'owner'")
  const secret = 'x-service-page-secret'
  const credentials = { email: 'owner@example.com', password: PASSWORD }
  const answer = await plane.call('POST', '/api/auth/login', credentials, { [secret]: 'new' })
  const cookie = answer.headers.getSetCookie().map((line) => line.split(';')[0])
  page = caller(plane.url, { cookie: cookie.join('; '), [secret]: at(answer.body, 'page_secret') })
  operator = caller(plane.url, { authorization: `Bearer ${OPERATOR_TOKEN}` })
})

afterAll(() => installation?.[Symbol.asyncDispose]())

type Listed = { name?: string; agent?: string; origin: Record<string, unknown> }

async function originOf(list: string, name: string): Promise<unknown> {
  const path = list === 'gateways' ? 'gateway' : list
  const { body } = await installation.admin('GET', `/api/dashboard/${path}`)
  const row = at<Listed[]>(body, list).find((each) => each.name === name || each.agent === name)
  return row?.origin
}

const made = (from: string) => ({ from, file: null, commit: null, deployed_by: null })

async function put(
  kind: string,
  path: string,
  spec: object,
  origin?: object,
): Promise<Record<string, unknown>> {
  const [namespace, name] = path.split('/')
  const answer = await operator('PUT', `/api/operator/objects/${kind}/${path}`, {
    ...{
      uid: `${kind}/${path}`,
      generation: 1,
      source: 'kubernetes',
      managed_by: `kubernetes ${kind} ${path}`,
    },
    resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace }, spec },
    ...(origin === undefined ? {} : { origin }),
  })
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}

describe('every object says where it comes from', () => {
  test('the default policies and the local gateway are built in', async () => {
    expect(await originOf('policies', 'default-deny-destructive')).toEqual(made('built_in'))
    expect(await originOf('gateways', 'default/local')).toEqual(made('built_in'))
  })

  test.each([
    ['command_line', () => installation.admin],
    ['dashboard', () => page],
  ] as const)('what is made there is of the %s', async (from, call) => {
    const make = async (path: string, body: object) => {
      const answer = await call()('POST', `/api/dashboard/${path}`, body)
      expect(answer.status, `${path}: ${answer.text}`).toBe(200)
    }
    await make('policies', { name: `policy-${from}`, policyYaml: RULES })
    await make('agents', { name: `agent-${from}`, runtime: 'x', environment: 'development' })
    await make('connectors', {
      type: 'generic',
      token: 't',
      domains: [`${from.replace('_', '-')}.example.com`],
    })
    await make('permissions', {
      ...{ gateway_name: 'local', connector_type: 'generic', action_pattern: 'generic.*' },
      ...{ decision: 'allow', agent: `agent-${from}` },
    })
    await make('gateway', { gateway: { name: `team/${from.replace('_', '-')}` } })
    expect(await originOf('policies', `policy-${from}`)).toEqual(made(from))
    expect(await originOf('agents', `agent-${from}`)).toEqual(made(from))
    expect(await originOf('permissions', `agent-${from}`)).toEqual(made(from))
    expect(await originOf('gateways', `team/${from.replace('_', '-')}`)).toEqual(made(from))
    const { body } = await installation.admin('GET', '/api/dashboard/connectors')
    const origins = at<Listed[]>(body, 'connectors').map(({ origin }) => origin['from'])
    expect(origins).toContain(from)
  })

  test('a built-in policy that somebody changes is theirs', async () => {
    const { body } = await page('GET', '/api/dashboard/policies')
    const id = at<{ id: string; name: string }[]>(body, 'policies').find(
      ({ name }) => name === 'default-allow-safe',
    )?.id
    await page('PATCH', '/api/dashboard/policies', { policy_id: id, enabled: false })
    expect(await originOf('policies', 'default-allow-safe')).toEqual(made('dashboard'))
  })

  test('an address that the command line records leaves the local gateway built in', async () => {
    const { body } = await installation.admin('GET', '/api/dashboard/gateway')
    const id = at<{ id: string; name: string }[]>(body, 'gateways').find(
      ({ name }) => name === 'default/local',
    )?.id
    await installation.admin('PATCH', '/api/dashboard/gateway', { gateway_id: id, port: 9_555 })
    expect(await originOf('gateways', 'default/local')).toEqual(made('built_in'))
  })

  test('a manifest shows its file, its commit and what applied it, and a new commit changes nothing else', async () => {
    const origin = { file: 'rules/a.yaml', commit: COMMIT, deployed_by: 'Argo CD rules' }
    await put('Gateway', 'team/edge', {}, origin)
    await put('Policy', 'team/named', { rules: [{ name: 'a', decision: 'deny' }] }, origin)
    const permission = { connectorType: 'generic', actionPattern: 'generic.a', decision: 'allow' }
    const spec = { gatewayRefs: [{ name: 'edge' }], agents: ['team/bot'], rules: [permission] }
    const first = await put('Permission', 'team/bot', spec, origin)
    const expected = { from: 'manifest', ...origin }
    expect(await originOf('gateways', 'team/edge')).toEqual(expected)
    expect(await originOf('policies', 'team/named')).toEqual(expected)
    expect(await originOf('permissions', 'team/bot')).toEqual(expected)
    const { body } = await installation.admin('GET', '/api/dashboard/manifests')
    expect(at<Listed[]>(body, 'objects').map((object) => object.origin)).toContainEqual(expected)
    const again = await put('Permission', 'team/bot', spec, { ...origin, commit: 'f'.repeat(40) })
    expect(again['version']).toBe(first['version'])
    expect(await originOf('permissions', 'team/bot')).toEqual({ ...expected, commit: 'f'.repeat(40) })
  })

  test('a built-in policy says that a manifest replaces it', async () => {
    const name = 'default-deny-destructive'
    const problemsOf = async () => {
      const { body } = await installation.admin('GET', '/api/dashboard/policies')
      return at<{ name: string; problems?: string[] }[]>(body, 'policies').find((row) => row.name === name)
        ?.problems
    }
    expect(await problemsOf()).toBeUndefined()
    const spec = { mode: 'disabled', rules: [{ name: 'a', decision: 'deny' }] }
    await operator('PUT', `/api/operator/objects/Policy/default/${name}`, {
      ...{ uid: name, generation: 1, source: 'file', managed_by: 'rules.yaml' },
      resource: {
        apiVersion: 'chaperone.dev/v1alpha1',
        kind: 'Policy',
        metadata: { name, namespace: 'default' },
        spec,
      },
    })
    expect(await problemsOf()).toEqual([expect.stringContaining('replaces this built-in policy')])
  })

  test('a manifest that takes over the local gateway is its source, and gives it back when it goes', async () => {
    await put('Gateway', 'default/local', {})
    expect(await originOf('gateways', 'default/local')).toEqual({ ...made('manifest') })
    await operator('DELETE', '/api/operator/objects/Gateway/default/local')
    expect(await originOf('gateways', 'default/local')).toEqual(made('built_in'))
  })
})
