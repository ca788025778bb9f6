import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { unstorableIn } from '../../../core/storable.ts'
import { replySse } from '../../support/recorder.ts'
import { waitFor } from '../../support/wait-for.ts'
import { expectRefused, JSON_BODY, LIST, MERGE, start } from './pipeline-world.ts'
import { type TestExchangeInput, testExchange } from './test-exchange.ts'
import { killAll, type Rules, type World } from './test-world.ts'

/** Bodies are hashed before they are held, which takes seconds on a busy machine. */
const HASHED = { timeout: 60_000 }

describe('holds', () => {
  const HELD: Rules = { permissions: [['codehost.*', 'require_approval']] }

  it('shows the approver the canonical request and forwards it after the yes', async () => {
    const world = await start(HELD)
    world.state.onHold = async () => ({ kind: 'approved', approvalId: 'apv_9', by: 'ann@example.com' })
    const exchange = await world.send({ ...MERGE, headers: JSON_BODY, body: '{"merge_method":"squash"}' })
    expect(exchange.reply.status).toBe(200)
    expect(world.holds).toHaveLength(1)
    expect(world.holds[0]).toMatchObject({
      agent: 'builder',
      connector: 'codehost',
      action_type: 'codehost.pr.merge',
      target: 'acme/site',
      method: 'PUT',
      host: 'api.github.com',
      path: MERGE.target,
      body_sha256: createHash('sha256').update('{"merge_method":"squash"}').digest('hex'),
      binding: expect.stringMatching(/^[0-9a-f]{64}$/),
      act_id: expect.stringMatching(/^act_/),
    })
    expect((await world.upstream.received(1))[0]?.body.toString()).toBe('{"merge_method":"squash"}')
    expect(world.records).toHaveLength(1)
    expect(world.records[0]).toMatchObject({
      decision: 'ALLOW',
      note: 'approved',
      approval_id: 'apv_9',
      status: 200,
    })
  })

  it('shows what the body holds beyond the parameters, but no secret in it', async () => {
    const world = await start(HELD)
    const body = JSON.stringify({ merge_method: 'squash', unknown_to_us: [1], some_token: 'hush-hush' })
    await world.send({ ...MERGE, headers: JSON_BODY, body })
    const [hold] = world.holds
    expect(hold?.parameters).toMatchObject({ other_fields: { unknown_to_us: [1] } })
    expect(JSON.stringify(hold)).not.toContain('hush-hush')
  })

  it('requests the approval in a form that can be stored, whatever characters the body has', async () => {
    const world = await start(HELD)
    const deep = '['.repeat(60) + ']'.repeat(60)
    const body = `{"commit_title":"a\\u0000","note":"\\ud83d","many":1e400,"deep":${deep},"__proto__":{"x":1}}`
    const exchange = await world.send({ ...MERGE, headers: JSON_BODY, body })
    expect(exchange.reply.status).toBe(403)
    expect(world.holds).toHaveLength(1)
    expect(unstorableIn(world.holds[0])).toBeNull()
    expect(JSON.stringify(world.holds[0])).toContain('"(__proto__)":{"x":1}')
  })

  it.each([
    ['platform', 'security/merges (platform): r'],
    ['gateway', 'security/merges: r'],
  ] as const)('says whose rule requires the approver: tier %s', async (tier, matched) => {
    const document = { rules: [{ name: 'r', conditions: [], decision: 'require_approval' }] }
    const permissions = [['codehost.*', 'allow']] as const
    const world = await start({ permissions, policies: [{ name: 'security/merges', tier, document }] })
    await world.send(MERGE)
    expect(world.holds).toMatchObject([{ matched_rule: matched }])
    expectRefused(world)
  })

  it('binds to agent, path, query and body', async () => {
    const world = await start(HELD)
    for (const input of [
      MERGE,
      { ...MERGE, headers: JSON_BODY, body: '{}' },
      { ...MERGE, target: `${MERGE.target}?a=1` },
      LIST,
      MERGE,
    ]) {
      await world.send(input)
    }
    const bindings = world.holds.map((hold) => hold.binding)
    expect(new Set(bindings).size).toBe(4)
    expect(bindings[4]).toBe(bindings[0])
  })

  it.each([
    ['X-Amz-Target', 'DynamoDB_20120810.DescribeTable', 'DynamoDB_20120810.DeleteTable'],
    ['SOAPAction', '"urn:Look"', '"urn:Delete"'],
    ['Content-Range', 'bytes 0-1/4', 'bytes 2-3/4'],
  ])('binds to what %s says is done with the bytes', async (name, first, second) => {
    const world = await start(HELD)
    const input = (value: string) => ({ ...MERGE, headers: [...JSON_BODY, name, value], body: '{}' })
    for (const value of [first, second, first]) await world.send(input(value))
    const [a, b, again] = world.holds.map((hold) => hold.binding)
    expect(a).not.toBe(b)
    expect(again).toBe(a)
  })

  it.each([
    ['denied', 403, 'approval denied', 'approval_denied'],
    ['expired', 403, 'approval expired', 'approval_expired'],
    ['cancelled', 403, 'approval denied', 'approval_denied'],
  ] as const)('answers %s with %i %s', async (kind, status, error, reason) => {
    const world = await start(HELD)
    world.state.onHold = async () => ({ kind, approvalId: 'apv_9', note: 'not today' })
    const exchange = await world.send(MERGE)
    expect(exchange.reply.status).toBe(status)
    expect(exchange.reply.json()).toMatchObject({ error, approval_id: 'apv_9' })
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ decision: 'DENY', reason, approval_id: 'apv_9' })
  })

  it('says in the refusal that the approval is kept when the credential has expired', async () => {
    const world = await start(HELD)
    world.state.onHold = async () => ({ kind: 'unavailable', approvalId: 'apv_9', note: 'It expired.' })
    const { reply } = await world.send(MERGE)
    expect(reply.status).toBe(503)
    const detail =
      'It expired. The approval is still valid for one request. Send the request again to use it.'
    expect(reply.json()).toMatchObject({
      error: 'credential unavailable',
      message: detail,
      approval_id: 'apv_9',
    })
    expectRefused(world)
  })

  it.each([
    ['the kill switch', (world: World) => (world.state.kill = [killAll()]), 403],
    ['a suspended agent', (world: World) => world.apply({ ...HELD, agents: [{ status: 'suspended' }] }), 403],
    [
      'another agent of that name',
      (world: World) => world.apply({ ...HELD, agents: [{ id: 'agent_2' }] }),
      403,
    ],
    ['a new deny', (world: World) => world.apply({ permissions: [['codehost.pr.merge', 'deny']] }), 403],
    ['a removed connector', (world: World) => world.apply({ ...HELD, connectors: [] }), 403],
  ] as const)('is overruled after the yes by %s', async (_what, change, status) => {
    const world = await start(HELD)
    world.state.onHold = async () => {
      change(world)
      return { kind: 'approved', approvalId: 'apv_9', by: null }
    }
    const exchange = await world.send(MERGE)
    expect(exchange.reply.status).toBe(status)
    expectRefused(world)
    expect(world.records[0]?.decision).toBe('DENY')
  })

  it('requests another approval when the rules for it changed during the hold', async () => {
    const world = await start(HELD)
    const changed: Rules = {
      ...HELD,
      policies: [{ document: { rules: [{ name: 'new', conditions: [], decision: 'require_approval' }] } }],
    }
    world.state.onHold = async () => {
      world.apply(changed)
      return { kind: 'approved', approvalId: `apv_${world.holds.length}`, by: null }
    }
    expect((await world.send(MERGE)).reply.status).toBe(200)
    expect(world.holds).toHaveLength(2)
    expect(world.records[0]?.approval_id).toBe('apv_2')
  })

  it('records an abandoned hold as HOLD, and sends nothing', async () => {
    const world = await start(HELD)
    world.state.onHold = (_hold, signal) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve({ kind: 'aborted', approvalId: 'apv_9' })),
      )
    const exchange = testExchange(MERGE)
    const done = world.run(exchange)
    await waitFor(() => expect(world.holds).toHaveLength(1))
    exchange.abort.abort()
    await done
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ decision: 'HOLD', approval_id: 'apv_9', status: null })
  })

  it('answers a held request that the kill switch cuts', async () => {
    const world = await start(HELD)
    world.state.onHold = (_hold, signal) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve({ kind: 'aborted', approvalId: 'apv_9' })),
      )
    const exchange = testExchange(MERGE)
    const done = world.run(exchange)
    await waitFor(() => expect(world.holds).toHaveLength(1))
    exchange.abort.abort({ kind: 'kill', entry: killAll() })
    await done
    expect(exchange.reply.status).toBe(403)
    expect(exchange.reply.json()['error']).toBe('Kill switch active: incident 7')
    expectRefused(world)
  })

  it('keeps as many bytes of bodies as its budget has, and leaves room to agents that have none there', async () => {
    const MIB = 1024 * 1024
    const world = await start(
      {
        connectors: [{ type: 'generic', domains: ['files.example.test'], bodies: 'opaque' }],
        permissions: [['generic.*', 'require_approval']],
        agents: [{}, { id: 'agent_2', name: 'other' }],
      },
      { bodyBudget: { totalBytes: 4 * MIB, waitMs: 50 } },
    )
    world.state.onHold = (_hold, signal) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve({ kind: 'aborted', approvalId: null })),
      )
    const large: TestExchangeInput = {
      ...{ method: 'PUT', host: 'files.example.test', target: '/a' },
      ...{ headers: ['Content-Type', 'application/octet-stream'], body: Buffer.alloc(MIB, 'x') },
    }
    const waiting = Array.from({ length: 3 }, () => testExchange(large))
    const done = waiting.map((exchange) => world.run(exchange))
    await waitFor(() => expect(world.holds).toHaveLength(3), HASHED)
    const over = await world.send(large)
    expect(over.reply.status).toBe(503)
    expect(over.reply.json()).toMatchObject({ error: 'overloaded', retry_after: 5 })
    expect(over.reply.header('retry-after')).toBe('5')
    const unfinished = new Readable({ read() {} })
    unfinished.push(Buffer.alloc(100 * 1024))
    const endless = await world.send({ ...large, body: unfinished })
    expect(endless.reply.status).toBe(503)
    const small = testExchange({ ...large, body: 'x' })
    const others = testExchange({ ...large, credentials: { kind: 'port', agent: 'other' } })
    done.push(world.run(small), world.run(others))
    await waitFor(() => expect(world.holds).toHaveLength(5), HASHED)
    for (const exchange of waiting.slice(0, 2)) exchange.abort.abort(new Error('gone'))
    await Promise.all(done.slice(0, 2))
    const next = testExchange(large)
    done.push(world.run(next))
    await waitFor(() => expect(world.holds).toHaveLength(6), HASHED)
    for (const exchange of [...waiting.slice(2), small, others, next]) exchange.abort.abort(new Error('gone'))
    await Promise.all(done)
    expect(world.upstream.seen).toEqual([])
    expect(world.records).toHaveLength(8)
  })

  it('refuses a held body above 8 MiB', async () => {
    const world = await start(HELD)
    const body = Buffer.alloc(8 * 1024 * 1024 + 1)
    const exchange = await world.send({ ...MERGE, headers: JSON_BODY, body })
    expect(exchange.reply.status).toBe(413)
    expect(exchange.reply.json()['message']).toMatch(/codehost\..*8 MiB \(8388608 bytes\)/)
    expectRefused(world)
    expect(world.holds).toEqual([])
  })
})

describe('the kill switch during an answer', () => {
  it.each([
    ['an agent that leaves', new Error('the client closed the connection'), 'cut'],
    ['the kill switch', { kind: 'kill', entry: killAll() }, 'aborted by a kill switch'],
  ])('%s is no fault of the connector', async (_who, reason, note) => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    world.upstream.answerWith(replySse(100_000, 5))
    const exchange = testExchange(LIST)
    const done = world.run(exchange)
    await waitFor(() => expect(exchange.reply.chunks.length).toBeGreaterThan(0))
    exchange.abort.abort(reason)
    await done
    expect(world.records).toMatchObject([{ status: 200, note, error_type: null }])
  })

  it('cuts an open stream and says so in its record', async () => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    world.upstream.answerWith(replySse(100_000, 5))
    const exchange = testExchange(LIST)
    const done = world.run(exchange)
    await waitFor(() => expect(exchange.reply.chunks.length).toBeGreaterThan(2))
    exchange.abort.abort({ kind: 'kill', entry: killAll() })
    await done
    expect(exchange.reply.state).toBe('destroyed')
    await waitFor(() => expect(world.upstream.openConnections).toBe(0))
    expect(world.records).toHaveLength(1)
    expect(world.records[0]).toMatchObject({
      status: 200,
      note: 'aborted by a kill switch',
      reason: 'kill_switch',
    })
  })
})

describe('the form of a refusal', () => {
  const MCP: Rules = {
    connectors: [{ type: 'mcp', name: 'team/mcp', domains: ['mcp.example.com'], auth: { type: 'bearer' } }],
    permissions: [['mcp.tools.list', 'allow']],
  }
  const call = (body: unknown): TestExchangeInput => ({
    method: 'POST',
    host: 'mcp.example.com',
    target: '/mcp',
    headers: [...JSON_BODY, 'Accept', 'application/json, text/event-stream'],
    body: JSON.stringify(body),
  })
  const DELETE_CALL = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'delete_repo' } }

  it('is a JSON-RPC error for an MCP request with an id', async () => {
    const world = await start(MCP)
    const exchange = await world.send(call(DELETE_CALL))
    expect(exchange.reply.status).toBe(200)
    expect(exchange.reply.json()).toMatchObject({
      jsonrpc: '2.0',
      id: 7,
      error: {
        code: -32001,
        message: expect.stringContaining('mcp.tools.delete_repo'),
        data: { error: 'denied' },
      },
    })
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ decision: 'DENY', status: 200 })
  })

  it('is one JSON-RPC error per request of a batch', async () => {
    const world = await start(MCP)
    const list = { jsonrpc: '2.0', id: 'a', method: 'tools/list' }
    const note = { jsonrpc: '2.0', method: 'notifications/initialized' }
    const exchange = await world.send(call([list, note, DELETE_CALL]))
    expect(exchange.reply.status).toBe(200)
    expect(JSON.parse(exchange.reply.text()).map((each: { id: unknown }) => each.id)).toEqual(['a', 7])
    expectRefused(world)
  })

  it('stays 403 for an MCP notification', async () => {
    const world = await start(MCP)
    const exchange = await world.send(call({ jsonrpc: '2.0', method: 'notifications/cancelled' }))
    expect(exchange.reply.status).toBe(403)
    expectRefused(world)
  })

  it.each([
    ['codehost', 'api.github.com', '/user', 403, (body: Record<string, unknown>) => body['message']],
    [
      'llm_a',
      'api.openai.com',
      '/v1/models',
      403,
      (body: { error: { message: string } }) => body.error.message,
    ],
    [
      'llm_b',
      'api.anthropic.com',
      '/v1/models',
      403,
      (body: { error: { message: string } }) => body.error.message,
    ],
    [
      'llm_c',
      'generativelanguage.googleapis.com',
      '/v1beta/models',
      403,
      (body: { error: { code: number; message: string; status: string } }) =>
        `${body.error.code} ${body.error.status} ${body.error.message}`,
    ],
    [
      'payments',
      'api.stripe.com',
      '/v1/balance',
      403,
      (body: { error: { message: string } }) => body.error.message,
    ],
    ['chat', 'slack.com', '/api/users.list', 200, (body: { error: string }) => body.error],
  ] as const)("is %s's own when the connector asks for it", async (type, host, target, status, text) => {
    const world = await start({
      connectors: [{ type, name: 'x', errorShape: 'provider', auth: { type: 'bearer' } }],
    })
    const exchange = await world.send({ host, target })
    expect(exchange.reply.status).toBe(status)
    expect(text(exchange.reply.json() as never)).toContain('No permission matches')
    expectRefused(world)
  })

  it('is plain text for git', async () => {
    const world = await start()
    const exchange = await world.send({ ...LIST, headers: ['User-Agent', 'git/2.45'] })
    expect(exchange.reply.header('content-type')).toContain('text/plain')
    expectRefused(world)
  })
})
