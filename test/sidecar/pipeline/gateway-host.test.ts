import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { decideNamesOfType } from '../../../core/decision/decide-by-name.ts'
import { GATEWAY_HOST } from '../../../core/request/gateway-host.ts'
import { JSON_BODY, start } from './pipeline-world.ts'
import { killAll, type Rules, snapshotOf, type World } from './test-world.ts'

const RULES: Rules = {
  permissions: [
    ['codehost.issue.*', 'allow'],
    ['codehost.pr.merge', 'require_approval'],
    ['codehost.repo.delete', 'deny'],
  ],
}

const get = (world: World, target: string) =>
  world.send({ method: 'GET', host: GATEWAY_HOST, scheme: 'http', target })
const post = (world: World, message: unknown) => {
  const body = typeof message === 'string' ? message : JSON.stringify(message)
  const headers = ['Content-Type', 'application/json']
  return world.send({ method: 'POST', host: GATEWAY_HOST, scheme: 'http', target: '/mcp', headers, body })
}
async function call(world: World, name: string, input: object) {
  const params = { name, arguments: input }
  const { reply } = await post(world, { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const { result } = reply.json() as { result: { content: Array<{ text: string }>; isError: boolean } }
  return { text: result.content[0]?.text ?? '', isError: result.isError }
}
const tools = async (world: World) => {
  const { reply } = await post(world, { jsonrpc: '2.0', id: 1, method: 'tools/list' })
  return (reply.json() as { result: { tools: Array<{ name: string }> } }).result.tools.map(({ name }) => name)
}

test('an agent reads the state of the gateway and the available tools, with one record and nothing upstream', async () => {
  const world = await start(RULES)
  const { reply } = await get(world, '/.well-known/chaperone')
  expect(reply.status).toBe(200)
  expect(reply.json()).toMatchObject({ agent: 'builder', mcp: `http://${GATEWAY_HOST}/mcp` })
  expect(world.records).toMatchObject([{ decision: 'ALLOW', host: GATEWAY_HOST, status: 200 }])
  expect(world.upstream.connections).toBe(0)
})

test('the tools say what passes, what waits and why, by the decision of the gateway', async () => {
  const world = await start(RULES)
  expect(await tools(world)).toEqual(['what_may_i_do', 'explain', 'request_access'])
  const may = JSON.parse((await call(world, 'what_may_i_do', { connector_type: 'codehost' })).text)
  expect(may.allowed).toContain('codehost.issue.create')
  expect(may.held_for_approval).toEqual(['codehost.pr.merge'])
  expect((await call(world, 'explain', { action: 'codehost.repo.delete' })).text).toMatch(/^DENY: .*denies/)
  expect((await call(world, 'explain', { action: 'payments.charge.refund' })).isError).toBe(true)
})

test('the names of a type are decided in slices, with one look-up of the connector', () => {
  const snapshot = snapshotOf(RULES, 1, 1)
  const agent = snapshot.agentsByName.get('builder')
  if (agent === undefined) throw new Error('no agent')
  let lookUps = 0
  const values = () => {
    lookUps += 1
    return snapshot.hosts.exact.values()
  }
  const exact = Object.assign(new Map(snapshot.hosts.exact), { values })
  const counted = { ...snapshot, hosts: { ...snapshot.hosts, exact } }
  const work = decideNamesOfType({ snapshot: counted, agent, connectorType: 'codehost', nowMs: Date.now() })
  let step = work.next()
  let slices = 1
  for (; step.done !== true; step = work.next()) slices += 1
  const names = step.value.map(({ input }) => input.action.type)
  expect(names.length).toBeGreaterThan(1_000)
  expect(names).toEqual([...new Set(names)].sort())
  expect(slices).toBe(Math.ceil(names.length / 32))
  expect(lookUps).toBe(1)
})

test('other work runs between the slices of what_may_i_do', async () => {
  const world = await start(RULES)
  let turns = 0
  let next = setImmediate(function turn() {
    turns += 1
    next = setImmediate(turn)
  })
  const { text } = await call(world, 'what_may_i_do', { connector_type: 'codehost' })
  clearImmediate(next)
  expect(turns).toBeGreaterThan(32)
  expect(JSON.parse(text).held_for_approval).toEqual(['codehost.pr.merge'])
})

test('a request for access opens a card that no request waits for, and grants nothing', async () => {
  const world = await start(RULES)
  const asked = { action: 'codehost.pr.merge', target: 'Acme/Site', reason: 'The release\u0000 is due' }
  expect((await call(world, 'request_access', asked)).text).toContain('No access is granted yet')
  await call(world, 'request_access', asked)
  const [first, second] = world.holds
  expect(first).toMatchObject({
    access_request: true,
    action_type: 'codehost.pr.merge',
    target: 'acme/site',
    requested_by_agent_text: 'Access for 1h: The release\u2400 is due',
    held_by: { source: 'permission' },
  })
  expect(first?.binding).not.toBe(second?.binding)
  expect(world.upstream.connections).toBe(0)
})

test('a request for access to a tool, or to an action that a Connector declares, has the risk and effects of the action', async () => {
  const declared = { method: 'POST', path: '/sites/{site}', action: 'generic.site.publish' } as const
  const world = await start({
    connectors: [
      { type: 'mcp', name: 'tools', domains: ['tools.example'], auth: { type: 'bearer' } },
      {
        ...{ id: 'conn_0', type: 'generic', name: 'other', domains: ['other.example'] },
        auth: { type: 'bearer' },
      },
      {
        ...{ id: 'conn_2', type: 'generic', name: 'sites', domains: ['sites.example'] },
        auth: { type: 'bearer' },
        actions: [{ ...declared, effect: 'write', risk: 'low', effects: ['publish'] }],
      },
    ],
    permissions: [
      ['mcp.*', 'require_approval'],
      ['generic.*', 'require_approval'],
    ],
  })
  const json = { method: 'POST', headers: JSON_BODY } as const
  const params = { name: 'deploy', arguments: {} }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  await world.send({ ...json, host: 'tools.example', target: '/mcp', body })
  await world.send({ ...json, host: 'sites.example', target: '/sites/acme', body: '{}' })
  await call(world, 'request_access', { action: 'mcp.tools.deploy', target: 'deploy', reason: 'x' })
  const target = 'sites.example/sites/acme'
  await call(world, 'request_access', { action: declared.action, target, reason: 'x' })
  const facts = world.holds.map(({ connector_name, target, risk_score, held_by }) => [
    ...[connector_name, target, risk_score, held_by?.account_sha256],
  ])
  expect(facts).toHaveLength(4)
  expect(facts.slice(2)).toEqual(facts.slice(0, 2))
})

test.each([
  ['a long reason', { action: 'codehost.pr.merge', reason: 'x'.repeat(501) }],
  ['no reason', { action: 'codehost.pr.merge', reason: '' }],
  ['a name that is none', { action: '<b>', reason: 'x' }],
  ['a name of no action', { action: 'codehost.pr.mergee', reason: 'x' }],
  ['another duration', { action: 'codehost.pr.merge', reason: 'x', duration: 'for ever' }],
])('a request for access with %s opens no card', async (_, input) => {
  const world = await start(RULES)
  expect((await call(world, 'request_access', input)).isError).toBe(true)
  expect(world.holds).toEqual([])
})

test.each([
  ['explain', 'action: is required', {}],
  ['explain', 'arguments: must be an object, not a list', ['codehost.pr.merge']],
  [
    'explain',
    'target: must have at most 500 characters',
    { action: 'codehost.pr.merge', target: 'x'.repeat(501) },
  ],
  ['what_may_i_do', 'connector_type: must be a string, not a number', { connector_type: 5 }],
  ['what_may_i_do', 'connector_type: must match the pattern /^[a-z_]{1,32}$/', { connector_type: 'GitHub' }],
  ['request_access', 'reason: is required', { action: 'codehost.pr.merge' }],
  [
    'request_access',
    'duration: must be once, 15m, 1h, today or permanent; did you mean 15m?',
    { action: 'codehost.pr.merge', reason: 'x', duration: '16m' },
  ],
])('the tool %s says which argument is wrong: "%s"', async (name, text, input) => {
  const world = await start(RULES)
  expect(await call(world, name, input)).toEqual({ text, isError: true })
})

test('with refusalDetail: brief an agent can request access, and does not read the rules', async () => {
  const world = await start({ ...RULES, gateway: { refusalDetail: 'brief' } })
  expect(await tools(world)).toEqual(['request_access'])
  expect((await call(world, 'explain', { action: 'codehost.repo.delete' })).isError).toBe(true)
})

test.each(['absolute', 'port-absolute', 'port-h1', 'port-h2', 'connect-h1', 'connect-h2'] as const)(
  'a request without TLS is answered, by absolute URL, in a CONNECT and from a captured connection: %s',
  async (transport) => {
    const world = await start(RULES)
    const target = '/.well-known/chaperone'
    const request = { method: 'GET', host: GATEWAY_HOST, target, transport } as const
    expect((await world.send({ ...request, scheme: 'http' })).reply.json()).toMatchObject({
      agent: 'builder',
    })
    expect((await world.send({ ...request, scheme: 'https' })).reply.status).toBe(403)
    expect(world.upstream.connections).toBe(0)
  },
)

test('no connector owns the host, by name or by wildcard', async () => {
  for (const domain of [GATEWAY_HOST, 'Chaperone.Internal', '*.internal', `*.${GATEWAY_HOST}`]) {
    const world = await start({ connectors: [{ type: 'generic', name: 'taker', domains: [domain] }] })
    const { reply } = await get(world, '/.well-known/chaperone')
    expect(reply.json()).toMatchObject({ agent: 'builder' })
    expect(world.upstream.connections).toBe(0)
  }
})

test.each([
  ['with a length', (text: string) => text],
  [
    'in chunks',
    (text: string) => Readable.from([Buffer.from(text.slice(0, 10)), Buffer.from(text.slice(10))]),
  ],
])('a message %s of at most 64 KiB is read, and a longer one is 413', async (_, bodyOf) => {
  const world = await start(RULES)
  const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  const send = (bytes: number) => {
    const body = bodyOf(message.padEnd(bytes))
    const to = { method: 'POST', host: GATEWAY_HOST, scheme: 'http', target: '/mcp' } as const
    return world.send({ ...to, headers: JSON_BODY, body })
  }
  expect((await send(64 * 1024)).reply.json()).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
  expect((await send(64 * 1024 + 1)).reply.status).toBe(413)
  expect(world.records.map(({ status }) => status)).toEqual([200, 413])
})

test('a killed agent is refused, a tunnel too, and a message that is no JSON-RPC is 400', async () => {
  const world = await start(RULES)
  expect((await post(world, '{')).reply.status).toBe(400)
  expect(
    (
      await world.send({
        method: 'CONNECT',
        kind: 'tunnel',
        host: `${GATEWAY_HOST}:443`,
        target: `${GATEWAY_HOST}:443`,
      })
    ).reply.status,
  ).toBe(403)
  world.state.kill = [killAll()]
  expect((await get(world, '/.well-known/chaperone')).reply.status).toBe(403)
})
