import { describe, expect, it } from 'vitest'
import { waitFor } from '../../support/wait-for.ts'
import { expectRefused, start } from './pipeline-world.ts'
import { type TestExchangeInput, testExchange } from './test-exchange.ts'
import { killAll, type Rule } from './test-world.ts'

const MODEL = { type: 'llm_a', name: 'team/models', auth: { type: 'bearer' } } as const
const HANDSHAKE = [
  ...['Connection', 'Upgrade', 'Upgrade', 'websocket', 'Sec-WebSocket-Version', '13'],
  ...['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
]
const SOCKET: TestExchangeInput = {
  kind: 'upgrade',
  host: 'api.openai.com',
  target: '/v1/responses',
  headers: HANDSHAKE,
}
const ALLOWED: readonly Rule[] = [['llm_a.*', 'allow']]

describe('an upgrade to a WebSocket of model calls', () => {
  it.each<[string, readonly Rule[]]>([
    ['allowed by wildcard', ALLOWED],
    ['allowed by name', [['llm_a.websocket.open', 'allow']]],
    ['held', [['llm_a.*', 'require_approval']]],
    ['denied', [['llm_a.*', 'deny']]],
    ['without a rule', []],
  ])('is answered 426 at once: %s', async (_name, permissions) => {
    const world = await start({ connectors: [MODEL], permissions })
    const exchange = await world.send(SOCKET)
    expect(exchange.reply.status).toBe(426)
    expect(exchange.reply.header('upgrade')).toBe('HTTP/1.1')
    expect(exchange.reply.json()).toMatchObject({ error: 'WebSocket not served' })
    expect(world.holds).toEqual([])
    expectRefused(world)
    expect(world.records[0]).toMatchObject({
      ...{ action_type: 'llm_a.websocket.connect', decision: 'DENY', status: 426, method: 'GET' },
      path: '/v1/responses',
    })
  })

  it('is answered 426 at the level monitor, too', async () => {
    const world = await start({ connectors: [MODEL], gateway: { enforcementLevel: 'monitor' } })
    expect((await world.send(SOCKET)).reply.status).toBe(426)
    expectRefused(world)
  })

  it('is answered in the error format of the provider where the Connector sets it', async () => {
    const world = await start({ connectors: [{ ...MODEL, errorShape: 'provider' }], permissions: ALLOWED })
    const exchange = await world.send(SOCKET)
    expect(exchange.reply.status).toBe(426)
    expect(exchange.reply.json()).toMatchObject({ error: { type: 'invalid_request_error' } })
  })

  it('is refused by the kill switch first', async () => {
    const world = await start({ connectors: [MODEL], permissions: ALLOWED })
    world.state.kill = [killAll()]
    expect((await world.send(SOCKET)).reply.status).toBe(403)
    expectRefused(world)
  })

  it.each(['/v1/realtime?model=m', '/v1/responses/resp_1', '/v1/chat/completions'])(
    'leaves the name of other upgrades: %s',
    async (target) => {
      const world = await start({ connectors: [MODEL], permissions: [['llm_a.response.*', 'allow']] })
      const exchange = await world.send({ ...SOCKET, target })
      expect(exchange.reply.status).toBe(403)
      expectRefused(world)
      expect(world.records[0]).toMatchObject({ action_type: 'llm_a.websocket.open' })
    },
  )

  it.each([
    ['llm_a', 'api.openai.com', '/v1/realtime?model=m'],
    [
      'llm_c',
      'generativelanguage.googleapis.com',
      '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent',
    ],
  ] as const)(
    'holds one whose messages it does not read, whatever permissions say: %s',
    async (type, host, target) => {
      const own = { type, name: 'team/models', auth: { type: 'bearer' } } as const
      const permissions: readonly Rule[] = [[`${type}.*`, 'allow']]
      const world = await start({ connectors: [own], permissions })
      const { reply } = await world.send({ ...SOCKET, host, target })
      expect(reply.status).toBe(403)
      expect(world.holds).toMatchObject([{ action_type: `${type}.provider_tool.unknown` }])
      expect(JSON.stringify(world.holds)).toContain('provider_tool.unknown')
      expectRefused(world)
      const providerTools = { allow: ['provider_tool.unknown' as const] }
      world.apply({ connectors: [{ ...own, providerTools }], permissions })
      const exchange = testExchange({ ...SOCKET, host, target })
      const done = world.run(exchange)
      await waitFor(() => expect(exchange.reply.state).toBe('upgraded'))
      exchange.abort.abort({ kind: 'kill', entry: killAll() })
      await done
      expect(world.holds).toHaveLength(1)
      expect(world.records[1]).toMatchObject({
        decision: 'ALLOW',
        actions: [`${type}.websocket.open`, `${type}.provider_tool.unknown`],
      })
      world.apply({
        connectors: [{ ...own, providerTools }],
        permissions: [[`${type}.websocket.open`, 'allow']],
      })
      expect((await world.send({ ...SOCKET, host, target })).reply.status).toBe(403)
    },
  )

  it('leaves the upgrades of other connector types', async () => {
    const world = await start({
      connectors: [
        { type: 'generic', name: 'team/own', domains: ['api.openai.com'], auth: { type: 'bearer' } },
      ],
      permissions: [['generic.websocket.open', 'deny']],
    })
    expect((await world.send(SOCKET)).reply.status).toBe(403)
    expect(world.records[0]).toMatchObject({ action_type: 'generic.websocket.open' })
  })
})
