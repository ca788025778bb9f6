import { expect, test } from 'vitest'
import type { ConnectorEntry } from '../../../../core/wire/gateway/sync.ts'
import type { Exchange } from '../../../../sidecar/pipeline/exchange.ts'
import type { NarrowedAnswer, TokenRequest } from '../../../../sidecar/pipeline/ports.ts'
import { RequestTemplate } from '../../../../sidecar/pipeline/request-template.ts'
import { start } from '../pipeline-world.ts'
import { type TestExchangeInput, testExchange } from '../test-exchange.ts'
import type { Rule } from '../test-world.ts'

const FUTURE = '2999-01-01T00:00:00.000Z'
const PULL: TestExchangeInput = { method: 'GET', target: '/repos/acme/site/pulls/7' }
const SEARCH: TestExchangeInput = { method: 'GET', target: '/search/code?q=x' }

type Minted = NonNullable<ConnectorEntry['minted']>

function token(secret: string): NarrowedAnswer {
  const scope = ['acme/site', 'contents:read']
  const expiresAtMs = Date.parse(FUTURE)
  return { kind: 'token', token: { id: `tok_${secret}`, secret, serial: 1, source: 's', scope, expiresAtMs } }
}

/** A world whose connector has narrowed tokens, which `answer` returns. */
async function startNarrowed(
  answer: (request: TokenRequest) => NarrowedAnswer,
  {
    minted = {},
    permissions = [['codehost.*', 'allow']] as readonly Rule[],
  }: { minted?: Partial<Minted>; permissions?: readonly Rule[] } = {},
) {
  const world = await start()
  const requests: TokenRequest[] = []
  world.state.narrowed = {
    cached: () => null,
    state: () => 'current',
    fetch: async (request) => {
      requests.push(request)
      return answer(request)
    },
  }
  const stated = { serial: 1, expires_at: FUTURE, error: null, kind: 'githubApp', source: 's', narrow: true }
  world.apply({ permissions, connectors: [{ secret: 'whole', minted: { ...stated, ...minted } }] })
  return { world, requests, sent: () => world.upstream.seen.map(({ rawHeaders }) => rawHeaders.join()) }
}

test('a request is sent with the token of its actions, which the record names', async () => {
  const { world, requests, sent } = await startNarrowed(() => token('narrow'))
  const { reply } = await world.send(PULL)
  expect(reply.status).toBe(200)
  expect(sent()[0]).toContain('token narrow')
  expect(requests[0]?.need).toEqual({
    ...{
      repositories: ['acme/site'],
      permissions: ['contents:read', 'pull_requests:read'],
      readsMore: false,
    },
  })
  expect(world.records).toMatchObject([
    {
      credential: {
        ...{ id: 'tok_narrow', source: 'githubApp', scope: ['acme/site', 'contents:read'] },
        expires_at: FUTURE,
      },
    },
  ])
  expect(JSON.stringify([world.records, world.intents])).not.toContain('"narrow"')
})

test('a request without a token is refused, and nothing is sent', async () => {
  const { world } = await startNarrowed(() => ({ kind: 'unavailable', reason: 'The source is down.' }))
  const { reply } = await world.send(PULL)
  expect(reply.status).toBe(503)
  expect(reply.header('retry-after')).toBe('2')
  expect(reply.text()).toContain(
    'has no token for codehost.pr.get, so the request cannot be sent. The source is down.',
  )
  expect(world.upstream.seen).toEqual([])
  expect(world.records).toHaveLength(1)
  expect(world.records[0]?.credential).toBeUndefined()
})

test('an action without known permissions is sent with the token of the connector, and the record says why', async () => {
  const { world, requests, sent } = await startNarrowed(() => token('narrow'))
  await world.send(SEARCH)
  expect(sent()[0]).toContain('token whole')
  expect(requests).toEqual([])
  expect(world.records[0]?.credential).toEqual({
    ...{ id: 'local/codehost/1', source: 'githubApp', expires_at: FUTURE },
    id: expect.stringMatching(/\/1$/),
    not_narrowed: 'Chaperone does not know which permissions codehost.search.code needs at the provider.',
  })
})

test('a connector with narrowed tokens whose own token has expired sends those of its actions', async () => {
  const { world, sent } = await startNarrowed(() => token('narrow'), {
    minted: { expires_at: '2026-01-01T00:00:00.000Z', error: 'The source is down.' },
  })
  expect((await world.send(PULL)).reply.status).toBe(200)
  expect(sent()[0]).toContain('token narrow')
  expect((await world.send(SEARCH)).reply.status).toBe(503)
})

test('requests with one head on one connection have the tokens of their own actions', async () => {
  const answers: NarrowedAnswer[] = [
    token('first'),
    { kind: 'whole', reason: 'No repository.' },
    token('second'),
  ]
  const { world, sent } = await startNarrowed(() => answers.shift() ?? token('none'))
  const template = new RequestTemplate()
  const { raw } = testExchange(PULL)
  for (let at = 0; at < 3; at++) {
    const exchange: Exchange = Object.assign(testExchange(PULL), { template, raw })
    await world.run(exchange)
  }
  expect(sent().map((text) => /token (\w+)/.exec(text)?.[1])).toEqual(['first', 'whole', 'second'])
})

test('an approval is not spent while there is no token', async () => {
  const { world } = await startNarrowed(() => ({ kind: 'unavailable', reason: 'none' }), {
    permissions: [['codehost.*', 'require_approval']],
  })
  const states: string[] = []
  world.state.narrowed.state = () => 'missing'
  const { ports } = world
  const wait = ports.holds.wait
  Object.assign(ports.holds, {
    async wait(...given: Parameters<typeof wait>) {
      const [, , problem, prepare] = given
      await prepare?.()
      states.push(problem?.() ?? 'none')
      return { kind: 'unavailable', approvalId: 'apv_1', note: states[0] }
    },
  })
  const { reply } = await world.send(PULL)
  expect(reply.status).toBe(503)
  expect(states[0]).toContain('has no token for codehost.pr.get')
  expect(world.upstream.seen).toEqual([])
})
