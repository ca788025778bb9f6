import { expect, test } from 'vitest'
import type { ConnectorEntry } from '../../../../core/wire/gateway/sync.ts'
import { createConditionWaits } from '../../../../sidecar/control/snapshot/condition-waits.ts'
import { waitFor } from '../../../support/wait-for.ts'
import { LIST, start } from '../pipeline-world.ts'
import { testExchange } from '../test-exchange.ts'
import { killAll, type Rule } from '../test-world.ts'

const PAST = '2026-01-01T00:00:00.000Z'
const FUTURE = '2999-01-01T00:00:00.000Z'
const ALLOW: readonly Rule[] = [['codehost.*', 'allow']]

type Minted = NonNullable<ConnectorEntry['minted']>

/** A world whose connector has a short-lived secret. The wait for it has no time limit here. */
async function startMinted(minted: Partial<Minted>, permissions = ALLOW) {
  const world = await start()
  const waits = createConditionWaits()
  let waiting = 0
  world.state.untilSettled = async (isSettled, signal) => {
    if (!isSettled()) waiting += 1
    await waits.until(isSettled, 600_000, signal)
  }
  const apply = (over: Partial<Minted>, secret: string | null = 'secret-1', rules = permissions) => {
    const entry = { secret, minted: { serial: 1, expires_at: PAST, error: null, ...over } }
    world.apply({ permissions: rules, connectors: [entry] })
    waits.changed()
  }
  apply(minted)
  return { world, apply, waiting: () => waiting }
}

/** Starts a request and resolves when the request waits for its secret. */
async function sent({ world, waiting }: Awaited<ReturnType<typeof startMinted>>) {
  const exchange = testExchange(LIST)
  const before = waiting()
  const done = world.run(exchange)
  await waitFor(() => expect(waiting()).toBe(before + 1))
  expect(world.upstream.seen).toEqual([])
  return { exchange, done }
}

test.each([
  ['expired', { expires_at: PAST }],
  ['not there yet', { serial: 0, expires_at: null }],
])(
  'a request whose secret is %s waits for the one that the control plane is fetching',
  async (_state, minted) => {
    const started = await startMinted(minted)
    const { exchange, done } = await sent(started)
    started.apply({ serial: 2 }, 'secret-2')
    started.apply({ serial: 3, expires_at: FUTURE }, 'secret-3')
    await done
    expect(exchange.reply.status).toBe(200)
    expect(started.world.upstream.seen).toHaveLength(1)
    expect(started.world.upstream.seen[0]?.rawHeaders.join()).toContain('secret-3')
    expect(started.world.records).toHaveLength(1)
    expect(started.waiting()).toBe(1)
  },
)

test('a request that waited is evaluated again under the rules that are in force then', async () => {
  const started = await startMinted({})
  const { exchange, done } = await sent(started)
  started.apply({ serial: 2, expires_at: FUTURE }, 'secret-2', [['codehost.*', 'deny']])
  await done
  expect(exchange.reply.status).toBe(403)
  expect(started.world.upstream.seen).toEqual([])
})

test('the wait ends with the error of the source', async () => {
  const started = await startMinted({})
  const { exchange, done } = await sent(started)
  started.apply({ error: 'The source refused.' })
  await done
  expect(exchange.reply.status).toBe(503)
  expect(exchange.reply.header('retry-after')).toBe('2')
  expect(exchange.reply.text()).toContain('The source refused.')
  expect(started.world.upstream.seen).toEqual([])
})

test('a request is refused at once while the source fails', async () => {
  const { world, waiting } = await startMinted({ error: 'The source refused.' })
  const { reply } = await world.send(LIST)
  expect(reply.status).toBe(503)
  expect(reply.text()).toContain('The source refused.')
  expect(world.upstream.seen).toEqual([])
  expect(waiting()).toBe(0)
})

test('a request is refused when no secret arrives in time', async () => {
  const { world } = await startMinted({})
  world.state.untilSettled = () => Promise.resolve()
  const { reply } = await world.send(LIST)
  expect(reply.status).toBe(503)
  expect(reply.text()).toContain('has a credential that expired')
  expect(world.upstream.seen).toEqual([])
  expect(world.records).toHaveLength(1)
})

test('a request whose approval is spent does not wait', async () => {
  const { world, waiting } = await startMinted({}, [['codehost.*', 'require_approval']])
  world.state.onHold = async () => ({ kind: 'approved', approvalId: 'apv_1', by: 'ann' })
  const { reply } = await world.send(LIST)
  expect(reply.status).toBe(503)
  expect(world.upstream.seen).toEqual([])
  expect(waiting()).toBe(0)
})

test.each([
  ['its client disconnects', undefined, { note: 'the agent disconnected' }],
  [
    'the kill switch cuts it',
    { kind: 'kill', entry: killAll() },
    { reason: 'kill_switch', decision: 'DENY' },
  ],
])('the wait of a request ends when %s', async (_event, reason, record) => {
  const { world, ...started } = await startMinted({})
  const { exchange, done } = await sent({ world, ...started })
  exchange.abort.abort(reason)
  await done
  expect(world.upstream.seen).toEqual([])
  expect(world.records).toMatchObject([record])
})
