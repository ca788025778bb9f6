import { expect, test, vi } from 'vitest'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import { watchCredential } from '../../../sidecar/pipeline/credentials/minted-secret.ts'
import type { RefusedSecret } from '../../../sidecar/pipeline/ports.ts'
import { replyJson } from '../../support/recorder.ts'
import { waitFor } from '../../support/wait-for.ts'
import { LIST, start } from './pipeline-world.ts'
import { type TestExchangeInput, testExchange } from './test-exchange.ts'
import { killAll, type Rule } from './test-world.ts'

const ALLOW: readonly Rule[] = [
  ['codehost.*', 'allow'],
  ['llm_b.*', 'allow'],
]
const LLM = 'api.anthropic.com'
const FUTURE = '2999-01-01T00:00:00.000Z'

/** A world whose upstream refuses the secrets of these numbers. */
async function startMinted(refusedSerials: readonly number[], over: Partial<ConnectorEntry> = {}) {
  const world = await start()
  const calls: (readonly [method: string, serial: number])[] = []
  const apply = (serial: number, permissions = ALLOW) => {
    const minted = { serial, expires_at: FUTURE, error: null }
    world.apply({ permissions, connectors: [{ ...over, secret: `secret-${serial}`, minted }] })
  }
  const port = {
    mayRefresh: () => true,
    refresh: async ({ serial }: RefusedSecret) => {
      calls.push(['refresh', serial])
      apply(2)
    },
    refusedAgain: ({ serial }: RefusedSecret) => calls.push(['refusedAgain', serial]),
  }
  Object.assign(world.ports.credentials, port)
  world.upstream.answerWith((request, response, seen) => {
    const isRefused = refusedSerials.some((serial) => seen.rawHeaders.join().includes(`secret-${serial}`))
    const isAnonymous = !seen.rawHeaders.join().includes('secret-')
    replyJson({}, isRefused || isAnonymous ? 401 : 200)(request, response, seen)
  })
  apply(1)
  return { world, calls, apply }
}

test('a read whose secret is refused is sent again with the new one', async () => {
  const { world, calls } = await startMinted([1])
  const { reply } = await world.send(LIST)
  expect(reply.status).toBe(200)
  expect(calls).toEqual([['refresh', 1]])
  expect(world.records).toMatchObject([{ note: 'sent again because the upstream refused the credential' }])
})

test('a new secret that is refused too is reported, and the agent gets the 401', async () => {
  const { world, calls } = await startMinted([1, 2])
  const { reply } = await world.send(LIST)
  expect(reply.status).toBe(401)
  expect(world.upstream.seen).toHaveLength(2)
  expect(calls).toEqual([
    ['refresh', 1],
    ['refusedAgain', 2],
  ])
})

test.each<[string, TestExchangeInput, number]>([
  ['carried no secret', { host: LLM, target: '/mcp-registry/v0/servers?limit=100' }, 0],
  ['carried the secret', { host: LLM, target: '/v1/models' }, 1],
])('a 401 of a request that %s', async (_what, input, refreshes) => {
  const auth = { type: 'header', header: 'x-api-key' } as const
  const { world, calls } = await startMinted([1], { type: 'llm_b', domains: [LLM], auth })
  await world.send(input)
  expect(calls).toHaveLength(refreshes)
})

test.each([
  ['an approved order is not sent again', { order: { approvalId: 'apv_1' } }, false],
  ['an order without an approval is sent again', { order: { approvalId: null } }, true],
  ['a request without an action is not sent again', { actions: [] }, false],
  ['a request without a name is not sent again', { actions: undefined }, false],
  ['a write is not sent again', { actions: [{ effect: 'read' }, { effect: 'write' }] }, false],
  ['a read is sent again', {}, true],
])('after a 401 %s', (_what, over, isRepeated) => {
  const { signal } = testExchange(LIST).abort
  const exchange = {
    ...{ kind: 'http', body: { isEmpty: true }, actions: [{ effect: 'read' }], abort: { signal } },
    request: { host: 'api.test', port: 443 },
    connector: {
      ...{ connector: {}, config: {} },
      entry: { id: 'con_1', secret: 'secret', minted: { serial: 1 }, auth: { type: 'token' } },
    },
    ...over,
  }
  const port = {
    ...{ mayRefresh: () => true, refresh: () => Promise.resolve(), refusedAgain: () => undefined },
  }
  expect(watchCredential(exchange as never, port as never)?.discards?.(401)).toBe(isRepeated)
})

test.each<[string, readonly Rule[], object]>([
  ['denied', [['codehost.*', 'deny']], { decision: 'DENY' }],
  ['held, and the approval expires', [['codehost.*', 'require_approval']], { decision: 'DENY' }],
])(
  'the record of a read that is %s after its secret was refused says that it was sent',
  async (_what, rules, record) => {
    const { world, apply } = await startMinted([1])
    Object.assign(world.ports.credentials, { refresh: async () => apply(2, rules) })
    const { reply } = await world.send(LIST)
    expect(reply.status).toBe(403)
    expect(world.upstream.seen).toHaveLength(1)
    expect(world.records).toMatchObject([
      { ...record, note: 'sent once; the upstream refused the credential' },
    ])
  },
)

test.each([
  ['its client disconnects', undefined, { note: 'the agent disconnected' }],
  [
    'the kill switch cuts it',
    { kind: 'kill', entry: killAll() },
    { reason: 'kill_switch', decision: 'DENY' },
  ],
])('the wait for a new secret ends when %s', async (_event, reason, record) => {
  const { world } = await startMinted([1])
  const refresh = vi.fn(() => new Promise<void>(() => undefined))
  Object.assign(world.ports.credentials, { refresh })
  const exchange = testExchange(LIST)
  const done = world.run(exchange)
  await waitFor(() => expect(refresh).toHaveBeenCalled())
  exchange.abort.abort(reason)
  await done
  expect(world.upstream.seen).toHaveLength(1)
  expect(world.records).toMatchObject([record])
})
