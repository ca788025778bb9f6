import { afterEach, describe, expect, it } from 'vitest'
import type { Connector } from '../../../core/connectors/connector.ts'
import { namedAction, oneAction } from '../../../core/connectors/named-action.ts'
import { bindConnector } from '../../../core/connectors/registry.ts'
import { type CanonicalRequest, isRefusal } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import { classifyByRequestLine } from '../../../sidecar/pipeline/classification/provisional-classification.ts'
import { connectorAt, type Rules, startWorld, type World } from './test-world.ts'

const worlds: World[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world[Symbol.asyncDispose]()
})

async function start(rules: Rules): Promise<World> {
  const world = await startWorld(rules)
  worlds.push(world)
  return world
}

function request(method: string, target: string, headers: readonly string[] = []): CanonicalRequest {
  const read = canonicalise({
    ...{ method, target, httpVersion: '1.1', scheme: 'https', sources: {} },
    rawHeaders: ['Host', 'api.example.test', ...headers],
  })
  if (isRefusal(read)) throw new Error(read.detail)
  return read
}

/** Counts how often it is asked; names a request after the header `x-kind` where there is one. */
function counting(looksAtHeaders: boolean): { readonly connector: Connector; readonly asked: string[] } {
  const asked: string[] = []
  const connector: Connector = {
    name: 'counting',
    label: { title: 'Counting', credential: 'Token' },
    domains: () => ['api.example.test'],
    parseAction(read, _body, config) {
      asked.push(`${read.method} ${read.rawTarget}`)
      const verb = looksAtHeaders ? read.rawHeaders.at(-1) : read.method.toLowerCase()
      const parts = {
        connector: 'counting',
        type: `counting.thing.${verb}`,
        effect: 'read',
        risk: 'low',
      } as const
      return oneAction(namedAction({ ...parts, target: read.rawPath }, config))
    },
    injectCredentials: () => undefined,
    carriers: { headers: [], query: [], bodyFields: [] },
    defaultAuth: { type: 'none' },
  }
  return { connector, asked }
}

function typeOf(provisional: ReturnType<typeof classifyByRequestLine>): string | undefined {
  return isRefusal(provisional) ? provisional.detail : provisional.actions[0]?.type
}

describe('the provisional classification of a request line', () => {
  it('is computed once for each method, host, target and presence of a body', () => {
    const { connector, asked } = counting(false)
    const bound = bindConnector(connectorAt(1), connector)
    for (let round = 0; round < 3; round++)
      expect(typeOf(classifyByRequestLine(bound, request('GET', '/a'), true))).toBe('counting.thing.get')
    expect(asked).toEqual(['GET /a'])
    expect(typeOf(classifyByRequestLine(bound, request('PUT', '/a'), true))).toBe('counting.thing.put')
    expect(typeOf(classifyByRequestLine(bound, request('PUT', '/a'), false))).toBe('counting.thing.put')
    expect(typeOf(classifyByRequestLine(bound, request('GET', '/b'), true))).toBe('counting.thing.get')
    expect(asked).toEqual(['GET /a', 'PUT /a', 'PUT /a', 'GET /b'])
  })

  it('is computed again for every request with a query', () => {
    const { connector, asked } = counting(false)
    const bound = bindConnector(connectorAt(1), connector)
    for (let round = 0; round < 2; round++) classifyByRequestLine(bound, request('GET', '/a?b=c'), true)
    expect(asked).toHaveLength(2)
  })

  it('is never cached for a connector that reads more than the line', () => {
    const { connector } = counting(true)
    const bound = bindConnector(connectorAt(1), connector)
    const named = (verb: string) =>
      typeOf(classifyByRequestLine(bound, request('GET', '/a', ['X-Kind', verb]), true))
    expect(named('read')).toBe('counting.thing.read')
    expect(named('drop')).toBe('counting.thing.drop')
    expect(named('read')).toBe('counting.thing.read')
  })

  it('is evicted when an agent requests thousands of paths', () => {
    const { connector, asked } = counting(false)
    const bound = bindConnector(connectorAt(1), connector)
    classifyByRequestLine(bound, request('GET', '/first'), true)
    for (let n = 0; n < 2_000; n++) classifyByRequestLine(bound, request('GET', `/${n}`), true)
    classifyByRequestLine(bound, request('GET', '/first'), true)
    expect(asked.filter((line) => line === 'GET /first')).toHaveLength(2)
  })
})

const LIST = { method: 'GET', target: '/repos/acme/site/issues' } as const

describe('a cached decision', () => {
  it('is invalid under another snapshot', async () => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    for (let round = 0; round < 3; round++) expect((await world.send(LIST)).reply.status).toBe(200)
    world.apply({ permissions: [['codehost.*', 'deny']] })
    expect((await world.send(LIST)).reply.status).toBe(403)
    expect(world.upstream.seen).toHaveLength(3)
    expect(world.records.map((record) => record.decision)).toEqual(['ALLOW', 'ALLOW', 'ALLOW', 'DENY'])
  })

  it('applies to one agent only', async () => {
    const agents = [
      { id: 'agent_1', name: 'builder' },
      { id: 'agent_2', name: 'reader' },
    ]
    const permissions: Rules['permissions'] = [
      ['codehost.*', 'allow', 'builder'],
      ['codehost.*', 'deny', 'reader'],
    ]
    const world = await start({ agents, permissions })
    const statusFor = async (agent: string) =>
      (await world.send({ ...LIST, credentials: { kind: 'port', agent } })).reply.status
    expect(await statusFor('builder')).toBe(200)
    expect(await statusFor('reader')).toBe(403)
    expect(await statusFor('builder')).toBe(200)
    expect(await statusFor('reader')).toBe(403)
    expect(world.upstream.seen).toHaveLength(2)
  })

  it('is not cached where a policy uses the time', async () => {
    const document = {
      scope: { actions: ['codehost.*'] },
      rules: [
        { name: 'closed', conditions: ['now.getMilliseconds() % 2 == 1'], decision: 'deny', reason: 'odd' },
      ],
    }
    const world = await start({ permissions: [['codehost.*', 'allow']], policies: [{ document }] })
    let nowMs = Date.parse('2026-01-01T00:00:00.000Z')
    world.ports.clock.nowMs = () => nowMs
    const statusAt = async (ms: number) => {
      nowMs = Date.parse('2026-01-01T00:00:00.000Z') + ms
      return (await world.send(LIST)).reply.status
    }
    expect([await statusAt(0), await statusAt(1), await statusAt(2), await statusAt(3)]).toEqual([
      200, 403, 200, 403,
    ])
    expect(world.upstream.seen).toHaveLength(2)
  })

  it('reads the body of every request where a policy needs it', async () => {
    const document = {
      scope: { actions: ['codehost.issue.*'] },
      rules: [
        { name: 'secret', conditions: ['parameters.title == "secret"'], decision: 'deny', reason: 'no' },
      ],
    }
    const world = await start({ permissions: [['codehost.*', 'allow']], policies: [{ document }] })
    const create = async (title: string) =>
      (
        await world.send({
          method: 'POST',
          target: LIST.target,
          headers: ['Content-Type', 'application/json'],
          body: JSON.stringify({ title }),
        })
      ).reply.status
    expect([await create('a'), await create('secret'), await create('b'), await create('secret')]).toEqual([
      200, 403, 200, 403,
    ])
    expect(world.upstream.seen).toHaveLength(2)
  })
})
