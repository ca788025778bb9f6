import { afterAll, beforeAll, expect, test } from 'vitest'
import { idlePermission, permissionWarnings } from '../../../core/decision/permissions/permission-warnings.ts'
import { startTestInstallation, type TestInstallation } from './installation.ts'
import { at } from './start.ts'

let here: TestInstallation
beforeAll(async () => {
  here = await startTestInstallation()
})
afterAll(() => here?.[Symbol.asyncDispose]())

const rule = (connectorType: string, actionPattern: string, decision: 'allow' | 'deny' = 'allow') => ({
  connectorType,
  actionPattern,
  decision,
})

test.each([
  ['codehost', 'codehost.pr.marge', 'codehost.pr.merge'],
  ['codehost', 'codehost.PR.merge', 'codehost.pr.merge'],
  ['codehost', 'codehost.pull.*', null],
  ['codehost', 'codehost.isue.*', 'codehost.issue.*'],
  ['codehost', 'codehost.unmap*', null],
  ['codehost', 'codehost.unmapped.po*', null],
  ['codehost', 'codehost.unmapped.POST', null],
  ['codehost', 'payments.charge.*', null],
  ['payments', 'payments.charge.refunded', 'payments.charge.refund'],
  ['mcp', 'mcp.tool.read_*', null],
  ['mcp', 'mcp.toolsread', null],
  ['chat', 'chat.message.posts', 'chat.message.post'],
  ['*', 'codehost.PR.merge', 'codehost.pr.merge'],
  ['*', 'codehost.PR.mer*', 'codehost.pr.mer*'],
  ['*', 'codehost.unmap*', null],
  ['*', 'Codehost.*', 'codehost.*'],
  ['generic', 'generic.GET', 'generic.get'],
  ['generic', 'generic.unmap*', null],
  ['webhook', 'webhook.Po*', 'webhook.po*'],
])('%s: %s allows nothing', (type, pattern, meant) => {
  const warning = idlePermission(rule(type, pattern))
  expect(warning).toContain(pattern)
  if (meant !== null) expect(warning).toContain(`Did you mean ${meant}?`)
})

test.each([
  ['codehost', 'codehost.*'],
  ['codehost', '*'],
  ['codehost', 'codehost.pr.merge'],
  ['codehost', 'codehost.pr.*'],
  ['codehost', 'codehost.pr.m*'],
  ['codehost', 'codehost.git.push'],
  ['codehost', 'codehost.unmapped.*'],
  ['codehost', 'codehost.unmapped.post'],
  ['llm_a', 'llm_a.websocket.open'],
  ['mcp', 'mcp.tools.create_*'],
  ['mcp', 'mcp.*'],
  ['mcp', 'mcp.rpc.*'],
  ['mcp', 'mcp.tools.Anything'],
  ['mcp', 'mcp.unmapped.get'],
  ['generic', 'generic.get'],
  ['generic', 'generic.orders.refund'],
  ['webhook', 'webhook.*'],
  ['*', '*'],
  ['*', 'codehost.*'],
  ['*', 'codehost.unmapped.post'],
  ['*', 'codehost.unmapped.*'],
  ['*', 'mcp.tools.Create_*'],
  ['*', 'mcp.rpc.unknown'],
  ['*', 'acme.Deploy'],
] as const)('%s: %s can match', (type, pattern) => {
  expect(idlePermission(rule(type, pattern))).toBeNull()
})

test('what tightens compares without case, and may name what no row describes', () => {
  expect(idlePermission(rule('codehost', 'codehost.PR.merge', 'deny'))).toBeNull()
  expect(idlePermission(rule('codehost', 'codehost.own.thing'), ['codehost.own.thing'])).toBeNull()
  expect(idlePermission(rule('*', 'codehost.PR.merge', 'deny'))).toBeNull()
  expect(idlePermission(rule('generic', 'generic.G*'), ['generic.Gift'])).toBeNull()
})

const open = (type: string) => rule(type, `${type}.websocket.open`)

test.each([
  ['llm_a', 'llm_a.*', 'Realtime API'],
  ['llm_a', 'llm_a.web*', 'Realtime API'],
  ['llm_a', 'llm_a.websocket.*', 'Realtime API'],
  ['llm_a', 'llm_a.websocket.open*', 'Realtime API'],
  ['llm_a', '*', 'Realtime API'],
  ['llm_c', 'llm_c.*', 'Live API'],
  ['*', '*', 'Live API'],
  ['*', 'llm_a.*', 'Realtime API'],
  ['*', 'llm*', 'Live API'],
] as const)('%s: %s warns, because it also allows WebSockets that are not read', (type, pattern, api) => {
  const warning = permissionWarnings(rule(type, pattern)).join(' ')
  expect(warning).toContain(api)
  expect(warning).toContain('websocket.open')
  expect(permissionWarnings(rule(type, pattern, 'deny'))).toEqual([])
  const named = ['llm_a', 'llm_c'].map(open)
  expect(permissionWarnings(rule(type, pattern), [], named)).toEqual([])
  expect(permissionWarnings(rule(type, pattern), [], [rule('llm_a', 'llm_a.websocket.*')])).not.toEqual([])
})

test.each([
  ['llm_a', 'llm_a.websocket.open'],
  ['llm_a', 'llm_a.response.*'],
  ['llm_a', 'llm_a.websocket.connect*'],
  ['llm_b', 'llm_b.*'],
  ['codehost', 'codehost.*'],
  ['mcp', 'mcp.*'],
] as const)('%s: %s does not', (type, pattern) => {
  expect(permissionWarnings(rule(type, pattern)).filter((text) => text.includes('WebSocket'))).toEqual([])
})

test('the API answers that warning until a rule of the same agents names the action', async () => {
  const path = '/api/dashboard/permissions'
  const body = {
    gateway_name: 'local',
    connector_type: 'llm_a',
    action_pattern: 'llm_a.*',
    decision: 'allow',
  }
  const made = await here.admin('POST', path, body)
  expect(String(made.body['warnings'])).toContain('llm_a.websocket.open')
  const other = { ...body, action_pattern: 'llm_a.websocket.open', decision: 'deny' }
  await here.admin('POST', path, { ...other, agent: 'another' })
  expect(String((await here.admin('POST', path, body)).body['warnings'])).toContain('llm_a.websocket.open')
  await here.admin('POST', path, other)
  expect((await here.admin('POST', path, body)).body).not.toHaveProperty('warnings')
  const { body: listed } = await here.admin('GET', path)
  const rows = at<{ action_pattern: string; warnings: string[] }[]>(listed, 'permissions')
  expect(rows.find((row) => row.action_pattern === 'llm_a.*')?.warnings).toEqual([])
})

test('the API answers the warning, and the list shows it', async () => {
  const path = '/api/dashboard/permissions'
  const body = {
    gateway_name: 'local',
    connector_type: 'codehost',
    action_pattern: 'codehost.pr.marge',
    decision: 'allow',
  }
  const made = await here.admin('POST', path, body)
  expect(made.status, made.text).toBe(200)
  expect(String(made.body['warnings'])).toContain('codehost.pr.merge')
  const fine = await here.admin('POST', path, { ...body, action_pattern: 'codehost.pr.merge' })
  expect(fine.body).not.toHaveProperty('warnings')
  const { body: listed } = await here.admin('GET', path)
  const rows = at<{ action_pattern: string; warnings: string[] }[]>(listed, 'permissions')
  expect(rows.find((row) => row.action_pattern === 'codehost.pr.marge')?.warnings).toHaveLength(1)
  expect(rows.find((row) => row.action_pattern === 'codehost.pr.merge')?.warnings).toEqual([])
})
