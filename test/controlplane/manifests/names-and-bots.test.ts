import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  ENROL_TOKEN,
  OPERATOR_TOKEN,
  startTestInstallation,
  type TestInstallation,
} from '../routes/installation.ts'
import { at, type Call, caller } from '../routes/start.ts'

let here: TestInstallation
let operator: Call
let gateway: Call

beforeAll(async () => {
  here = await startTestInstallation()
  operator = caller(here.plane.url, { authorization: `Bearer ${OPERATOR_TOKEN}` })
  gateway = caller(here.plane.url, { authorization: `Bearer ${ENROL_TOKEN}`, 'x-process-id': 'proc_1' })
})
afterAll(() => here?.[Symbol.asyncDispose]())

type Verdict = {
  readonly accepted: boolean
  readonly problem: string | null
  readonly reasons: string[]
  readonly warnings: string[]
}

async function put(kind: string, name: string, spec: object, extra: object = {}): Promise<Verdict> {
  const { status, body, text } = await operator('PUT', `/api/operator/objects/${kind}/default/${name}`, {
    ...{ uid: `uid-${kind}-${name}`, generation: 1, source: 'file', managed_by: '10-names.yaml', ...extra },
    resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace: 'default' }, spec },
  })
  expect(status, text).toBe(200)
  return body as unknown as Verdict
}

test('a manifest never gives a Connector the token of the approvals bot', async () => {
  const token = 'xoxb-canary-of-the-approvals'
  const settings = { chat_bot_token: token }
  expect((await here.admin('PUT', '/api/dashboard/settings', { settings })).status).toBe(200)
  const ref = { secretRef: { name: 'bot', key: 'token' } }
  const generic = { type: 'generic', domains: ['chat.example.com'], credential: ref }
  for (const [n, spec, credential] of [
    [0, { type: 'chat', credential: ref }, token],
    [1, { type: 'chat', credential: ref }, ` Bearer ${token}\n`],
    [2, generic, token],
  ] as const) {
    const verdict = await put('Connector', `bot-${n}`, spec, { credential })
    expect(verdict).toMatchObject({
      ...{ accepted: false, problem: 'Invalid' },
      reasons: [expect.stringContaining('belongs to the bot that shows approvals in the chat')],
    })
    expect(JSON.stringify(verdict)).not.toContain(token)
  }
  expect(await here.sql('select name from connectors')).toEqual([])
  expect(await put('Connector', 'bot-2', generic, { credential: 'another' })).toMatchObject({
    accepted: true,
  })
})

test('actions of a Connector that cannot be used are warnings of its status', async () => {
  const row = { method: 'GET', path: '/a/{b', action: 'generic.a.get', effect: 'read', risk: 'low' }
  const spec = { type: 'generic', domains: ['rows.example.com'] }
  expect(await put('Connector', 'rows', { ...spec, actions: [row] })).toMatchObject({
    ...{ accepted: true },
    warnings: [expect.stringContaining('spec.actions: not a template segment: {b; ')],
  })
  expect(
    await put('Connector', 'rows', { ...spec, actions: [{ ...row, path: '/a/{b}' }] }, { generation: 2 }),
  ).toMatchObject({ accepted: true, warnings: [] })
})

test('the type of a Connector of a file is immutable', async () => {
  const chat = { type: 'generic', domains: ['immutable.example.com'] }
  expect(await put('Connector', 'typed', { type: 'payments' })).toMatchObject({ accepted: true })
  expect(await put('Connector', 'typed', chat, { generation: 2 })).toMatchObject({
    ...{ accepted: false, problem: 'Invalid', in_force: 'last_good' },
    reasons: [expect.stringContaining('spec.type: is immutable')],
  })
  expect(await here.sql("select type from connectors where name = 'default/typed'")).toEqual([
    { type: 'payments' },
  ])
  expect((await operator('DELETE', '/api/operator/objects/Connector/default/typed')).status).toBe(200)
  expect(await put('Connector', 'typed', chat, { generation: 2 })).toMatchObject({ accepted: true })
})

test('a Connector of a cluster that was deleted and created again has any type', async () => {
  const created = (uid: string) => ({ uid, source: 'kubernetes', managed_by: 'kubernetes Connector' })
  const typed = { type: 'generic', domains: ['created.example.com'] }
  expect(await put('Connector', 'created', typed, created('one'))).toMatchObject({ accepted: true })
  const other = { type: 'webhook', domains: ['created.example.com'] }
  expect(await put('Connector', 'created', other, created('two'))).toMatchObject({ accepted: true })
})

test('a former spelling is refused with the present one', async () => {
  const policy = { rules: [{ name: 'r', decision: 'deny', approver_groups: [] }], enabled: false }
  const { accepted, reasons } = await put('Policy', 'former', policy)
  expect([accepted, reasons]).toEqual([
    false,
    [
      expect.stringContaining('unknown field spec.rules[0].approver_groups; use approverGroups'),
      expect.stringContaining('unknown field spec.enabled; use mode: disabled'),
    ],
  ])
  expect((await operator('DELETE', '/api/operator/objects/Policy/default/former')).status).toBe(200)
})

test('unknown names in manifests are refused in conditions, and warnings as actions, patterns and groups', async () => {
  const rule = { name: 'r', decision: 'require_approval', approverGroups: ['nobody'] }
  const policy = (condition: string) => ({
    scope: { actions: ['codehost.pr.mrege'] },
    rules: [{ ...rule, conditions: [condition] }],
  })
  const refused = await put('Policy', 'typo', policy('action.tpye == "a"'))
  expect(refused.accepted).toBe(false)
  expect(refused.reasons.join()).toContain('did you mean type?')
  const accepted = await put('Policy', 'typo', policy('action.type == "a"'))
  expect(accepted.accepted).toBe(true)
  expect(accepted.warnings.join()).toContain('Did you mean codehost.pr.merge?')
  expect(accepted.warnings.join()).toContain('No account is in the group "nobody".')
  const { body } = await here.admin('GET', '/api/dashboard/manifests')
  expect(JSON.stringify(body)).toContain('Did you mean codehost.pr.merge?')
  const rules = ['codehost.pr.mrege', 'codehost.pr.merge', 'mail.send'].map((actionPattern) => ({
    ...{ connectorType: 'codehost', actionPattern, decision: 'allow' },
  }))
  await put('Gateway', 'names', {})
  const permission = await put('Permission', 'typo', {
    gatewayRefs: [{ name: 'names' }],
    agents: ['*'],
    rules,
  })
  expect(permission).toMatchObject({ accepted: true })
  expect(permission.warnings.join()).toContain('codehost.pr.mrege')
  expect(permission.warnings.join()).toContain('rules[2]')
  expect(permission.warnings.join()).not.toContain('rules[1]')
})

test('a permission with a pattern that nothing matches is set with a warning over both routes', async () => {
  const permission = (action_pattern: string) => ({
    ...{ gateway_name: 'local', connector_type: 'codehost', decision: 'allow', action_pattern },
  })
  const routes: ReadonlyArray<(pattern: string) => Promise<Record<string, unknown>>> = [
    async (pattern) => (await here.admin('POST', '/api/dashboard/permissions', permission(pattern))).body,
    async (pattern) => {
      const command = { command: 'permissions.set', input: permission(pattern) }
      return at((await gateway('POST', '/api/gateway/commands', command)).body, 'body')
    },
  ]
  for (const set of routes) {
    const warned = await set('codehost.pr.mrege')
    expect(warned).toMatchObject({ ok: true, warnings: [expect.stringContaining('codehost.pr.merge')] })
    const fine = await set('codehost.pr.merge')
    expect(fine).toMatchObject({ ok: true })
    expect(fine).not.toHaveProperty('warnings')
  }
})

test('texts that were stored before unknown names were refused are listed with their problems', async () => {
  const policyYaml = 'rules: [{ name: a, conditions: [\'action.type == "a"\'], decision: deny }]\n'
  const made = await here.admin('POST', '/api/dashboard/policies', { name: 'older', policyYaml })
  expect(made.status, made.text).toBe(200)
  await here.sql('update policies set active_yaml = $1 where id = $2', [
    policyYaml.replace('action.type', 'action.tpye'),
    at(made.body, 'policy_id'),
  ])
  const { body } = await here.admin('GET', '/api/dashboard/policies')
  const rows = at<{ name: string; problems?: string[] }[]>(body, 'policies')
  expect(rows.find(({ name }) => name === 'older')?.problems?.join()).toContain('did you mean type?')
  expect(rows.filter(({ problems = [] }) => problems.length > 0).map(({ name }) => name)).toEqual(['older'])
})
