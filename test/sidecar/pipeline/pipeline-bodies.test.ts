import { Readable } from 'node:stream'
import { describe, expect, it, vi } from 'vitest'
import { waitFor } from '../../support/wait-for.ts'
import { expectRefused, JSON_BODY, start } from './pipeline-world.ts'
import { type TestExchangeInput, testExchange } from './test-exchange.ts'
import type { Rules, World } from './test-world.ts'

describe('bodies that decide', () => {
  const CLOSE: TestExchangeInput = {
    method: 'PATCH',
    target: '/repos/acme/site/issues/3',
    headers: JSON_BODY,
  }

  it('reads the body when the candidates get different verdicts', async () => {
    const world = await start({
      permissions: [
        ['codehost.*', 'allow'],
        ['codehost.issue.close', 'deny'],
      ],
    })
    const closed = await world.send({ ...CLOSE, body: '{"state":"closed"}' })
    expect(closed.reply.status).toBe(403)
    expectRefused(world)
    const updated = await world.send({ ...CLOSE, body: '{"title":"x"}' })
    expect(updated.reply.status).toBe(200)
    expect((await world.upstream.received(1))[0]?.body.toString()).toBe('{"title":"x"}')
    expect(world.records.map((record) => record.action_type)).toEqual([
      'codehost.issue.close',
      'codehost.issue.update',
    ])
  })

  it.each([
    ['{"state":"closed"}', 'codehost.issue.close'],
    ['{"title":"x"}', 'codehost.issue.update'],
  ])(
    'streams the body %s when the verdict is the same either way, and names the record %s',
    async (body, type) => {
      const world = await start({ permissions: [['codehost.*', 'allow']] })
      const exchange = testExchange({ ...CLOSE, body })
      const buffer = vi.spyOn(exchange.body, 'buffer')
      await world.run(exchange)
      expect(buffer).not.toHaveBeenCalled()
      expect(exchange.reply.status).toBe(200)
      expect(world.records[0]?.action_type).toBe(type)
    },
  )

  it.each([
    ['{"state":"closed"}', 'codehost.issue.close'],
    ['{"title":"x"}', 'codehost.issue.update'],
  ])(
    'a refusal of %s whose body has arrived names %s, whichever other candidates it had',
    async (body, type) => {
      const world = await start({ permissions: [['codehost.*', 'deny']] })
      const exchange = await world.send({ ...CLOSE, body })
      expect(exchange.reply.status).toBe(403)
      expect(exchange.reply.json()['action_type']).toBe(type)
      expect(world.records[0]?.action_type).toBe(type)
      expectRefused(world)
    },
  )

  it('names the record of a streamed body whose key is written with escapes', async () => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    await world.send({ ...CLOSE, body: '{"st\\u0061te":"cl\\u006fsed"}' })
    expect(world.records[0]?.action_type).toBe('codehost.issue.close')
  })

  it('names the record of a body that streams by in pieces', async () => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    for (const last of ['closed"}', 'open"}']) {
      const body = Readable.from([Buffer.from('{"title":"x","sta'), Buffer.from(`te":"${last}`)])
      await world.send({ ...CLOSE, body })
    }
    expect(world.records.map((record) => record.action_type)).toEqual([
      'codehost.issue.close',
      'codehost.issue.update',
    ])
  })

  it.each([
    ['duplicate keys', '{"state":"open","state":"closed"}', JSON_BODY, 400],
    ['an encoding', 'x', [...JSON_BODY, 'Content-Encoding', 'gzip'], 415],
    ['more than 1 MiB', JSON.stringify({ body: 'x'.repeat(1024 * 1024) }), JSON_BODY, 413],
  ])('refuses a deciding body with %s', async (_what, body, headers, status) => {
    const world = await start({
      permissions: [
        ['codehost.*', 'allow'],
        ['codehost.issue.close', 'deny'],
      ],
    })
    const exchange = await world.send({ ...CLOSE, headers, body })
    expect(exchange.reply.status).toBe(status)
    expectRefused(world)
  })

  it('reads the body when a policy uses its facts', async () => {
    const world = await start({
      connectors: [{ type: 'payments', name: 'team/stripe', auth: { type: 'bearer' } }],
      permissions: [['payments.*', 'allow']],
      policies: [
        {
          document: {
            rules: [{ name: 'large', conditions: ['parameters.amount > 1000'], decision: 'deny' }],
          },
        },
      ],
    })
    const charge = (amount: number) => ({
      method: 'POST',
      host: 'api.stripe.com',
      target: '/v1/charges',
      headers: ['Content-Type', 'application/x-www-form-urlencoded'],
      body: `amount=${amount}&currency=usd`,
    })
    expect((await world.send(charge(2000))).reply.status).toBe(403)
    expect(world.upstream.seen).toEqual([])
    expect((await world.send(charge(500))).reply.status).toBe(200)
  })
})

describe('a policy for others', () => {
  const POLICY = (scope: object) => ({
    document: {
      scope,
      rules: [{ name: 'blocked', conditions: ['parameters.title == "blocked"'], decision: 'deny' }],
    },
  })
  const TWO = [{}, { id: 'agent_2', name: 'other' }]
  const OTHER = { kind: 'port', agent: 'other' } as const
  const CREATE: TestExchangeInput = {
    method: 'POST',
    target: '/repos/acme/site/issues',
    headers: JSON_BODY,
    body: '{"title":"blocked"}',
  }

  it.each([
    ['agent', { agents: ['other'] }],
    ['agent by prefix', { agents: ['oth*'] }],
    ['agent by id', { agents: ['agent_2'] }],
    ['connector', { connectors: ['team/elsewhere'] }],
  ])('has no body read when it is for another %s, even after its own was', async (_what, scope) => {
    const world = await start({
      agents: TWO,
      permissions: [['codehost.*', 'allow']],
      policies: [POLICY(scope)],
    })
    const concerned = 'agents' in scope
    if (concerned) {
      const denied = await world.send({ ...CREATE, credentials: OTHER })
      expect(denied.reply.status).toBe(403)
      expectRefused(world)
    }
    const exchange = testExchange(CREATE)
    const buffer = vi.spyOn(exchange.body, 'buffer')
    await world.run(exchange)
    expect(exchange.reply.status).toBe(200)
    expect(buffer).not.toHaveBeenCalled()
    if (concerned) expect((await world.send({ ...CREATE, credentials: OTHER })).reply.status).toBe(403)
  })

  it.each([
    ['agent', { agents: ['builder'] }],
    ['connector', { connectors: ['team/github'] }],
    ['type of connector', { connectors: ['codehost'] }],
  ])('still has it read when its scope names the %s', async (_what, scope) => {
    const world = await start({
      agents: TWO,
      permissions: [['codehost.*', 'allow']],
      policies: [POLICY(scope)],
    })
    expect((await world.send(CREATE)).reply.status).toBe(403)
    expectRefused(world)
  })
})

describe('rules that change while a body is still coming', () => {
  const SPLIT: Rules['permissions'] = [
    ['codehost.*', 'allow'],
    ['codehost.issue.close', 'deny'],
  ]
  const FORM = {
    connectors: [{ type: 'chat', name: 'team/slack', auth: { type: 'bearer' } }],
    permissions: [['chat.*', 'allow']],
  } as const satisfies Rules
  const DECIDES: TestExchangeInput = {
    method: 'PATCH',
    target: '/repos/acme/site/issues/3',
    headers: JSON_BODY,
  }
  const CARRIES: TestExchangeInput = {
    method: 'POST',
    host: 'slack.com',
    target: '/api/chat.postMessage',
    headers: ['Content-Type', 'application/x-www-form-urlencoded'],
  }

  /** Sends all but the last byte, lets the rules change, and sends that. */
  async function trickle(world: World, input: TestExchangeInput, text: string, change: () => void) {
    const body = new Readable({ read() {} })
    const exchange = testExchange({ ...input, body })
    const buffer = vi.spyOn(exchange.body, 'buffer')
    const done = world.run(exchange)
    body.push(text.slice(0, -1))
    await waitFor(() => expect(buffer).toHaveBeenCalled())
    change()
    body.push(text.slice(-1))
    body.push(null)
    await done
    return exchange
  }

  it.each<[string, Rules, string]>([
    ['a permission was taken back', { permissions: [['codehost.*', 'deny']] }, 'denied'],
    ['the agent was suspended', { agents: [{ status: 'suspended' }], permissions: SPLIT }, 'agent suspended'],
    [
      'the agent was replaced by another of its name',
      { agents: [{ id: 'agent_9' }], permissions: SPLIT },
      'agent unknown',
    ],
    ['the connector was taken away', { connectors: [], permissions: SPLIT }, 'denied'],
    [
      'the connector lost its credential',
      { connectors: [{ secret: null }], permissions: SPLIT },
      'connector not ready',
    ],
  ])('%s: what was decided on the old ones does not count', async (_what, rules, error) => {
    const world = await start({ permissions: SPLIT })
    const exchange = await trickle(world, DECIDES, '{"title":"x"}', () => world.apply(rules))
    expect(exchange.reply.status).toBe(403)
    expect(exchange.reply.json()['error']).toBe(error)
    expectRefused(world)
  })

  it('that is read only for the credentials in it counts as well', async () => {
    const world = await start(FORM)
    const exchange = await trickle(world, CARRIES, 'channel=C1&text=hi', () =>
      world.apply({ ...FORM, permissions: [['chat.*', 'deny']] }),
    )
    expect(exchange.reply.status).toBe(403)
    expectRefused(world)
  })

  it('an approval is required under the new rules, and the credential is the new one', async () => {
    const world = await start(FORM)
    world.state.onHold = async () => ({ kind: 'approved', approvalId: 'apv_7', by: 'ann' })
    const exchange = await trickle(world, CARRIES, 'channel=C1&text=hi', () =>
      world.apply({
        connectors: [{ ...FORM.connectors[0], secret: 'rotated' }],
        permissions: [['chat.*', 'require_approval']],
      }),
    )
    expect(exchange.reply.status).toBe(200)
    expect(world.holds).toHaveLength(1)
    const [seen] = await world.upstream.received(1)
    expect(seen?.header('authorization')).toBe('Bearer rotated')
    expect(seen?.body.toString()).toBe('channel=C1&text=hi')
    expect(world.records).toHaveLength(1)
    expect(world.records[0]).toMatchObject({ approval_id: 'apv_7', snapshot_version: 2 })
  })

  it('rules that say the same let it pass once', async () => {
    const world = await start({ permissions: SPLIT })
    const exchange = await trickle(world, DECIDES, '{"title":"x"}', () => world.apply({ permissions: SPLIT }))
    expect(exchange.reply.status).toBe(200)
    expect(await world.upstream.received(1)).toHaveLength(1)
    expect(world.records).toHaveLength(1)
  })
})
