import { expect, test } from 'vitest'
import type { NarrowedTokenReply } from '../../../core/wire/gateway/narrowed-token.ts'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import type { ControlClient } from '../../../sidecar/control/client/client.ts'
import { createNarrowedTokens } from '../../../sidecar/control/narrowed-tokens.ts'
import type { TokenRequest } from '../../../sidecar/pipeline/ports.ts'

const HOUR_MS = 3_600_000

/** A cache whose control plane answers with `world.reply`. */
function createWorld() {
  const world = {
    reply: issued(1) as NarrowedTokenReply | Error,
    nowMs: 0,
    isConnected: true,
    serial: 1,
    source: 'source',
    calls: [] as unknown[],
    outcomes: [] as string[],
  }
  const client = {
    post(path: string, body: object) {
      world.calls.push([path, body])
      if (world.reply instanceof Error) return Promise.reject(world.reply)
      return Promise.resolve({ status: 200, bytes: Buffer.from(JSON.stringify(world.reply)) })
    },
  } as unknown as ControlClient
  const tokens = createNarrowedTokens({
    client: () => client,
    isConnected: () => world.isConnected,
    clock: { nowMs: () => world.nowMs, monotonicMs: () => world.nowMs },
    onAnswer: (outcome) => world.outcomes.push(outcome),
  })
  const request = (repository = 'acme/site', connectorId = 'con_1'): TokenRequest => ({
    entry: {
      id: connectorId,
      minted: { serial: world.serial, expires_at: null, error: null, source: world.source, narrow: true },
    } as ConnectorEntry,
    actions: [{ type: 'codehost.pr.get', target: repository, changes_workflows: false }],
    need: { repositories: [repository], permissions: ['contents:read'], readsMore: false },
  })
  /** Returns the secret, or the kind of the answer without one, as the pipeline gets it. */
  const send = async (given = request()) => {
    const answer = tokens.cached(given) ?? (await tokens.fetch(given))
    return answer.kind === 'token' ? answer.token.secret : `${answer.kind}: ${answer.reason}`
  }
  return { world, tokens, request, send }
}

function issued(serial: number, source = 'source', expiresAtMs = HOUR_MS): NarrowedTokenReply {
  const token = { id: `tok_${serial}`, secret: `secret ${serial}`, serial, source, scope: ['acme/site'] }
  return { outcome: 'issued', token: { ...token, expires_at: new Date(expiresAtMs).toISOString() } }
}

const DOWN: NarrowedTokenReply = { outcome: 'unavailable', reason: 'The source is down.' }

test('the control plane is called once for each need, with actions and targets only', async () => {
  const { world, tokens, request, send } = createWorld()
  expect(await Promise.all([send(), send(), send()])).toEqual(['secret 1', 'secret 1', 'secret 1'])
  expect(await send()).toBe('secret 1')
  expect(world.calls).toEqual([
    [
      '/api/gateway/narrowed-tokens',
      {
        connector_id: 'con_1',
        actions: [{ type: 'codehost.pr.get', target: 'acme/site', changes_workflows: false }],
        reads_more: false,
      },
    ],
  ])
  await send(request('acme/tools'))
  expect(world.calls).toHaveLength(2)
  expect(tokens.size).toBe(2)
  expect(world.outcomes).toEqual(['miss', 'hit', 'miss'])
})

test('a later secret of the Connector makes the token outdated', async () => {
  const { world, send } = createWorld()
  await send()
  world.serial = 2
  world.reply = issued(2)
  expect(await send()).toBe('secret 2')
})

test('without the control plane the last token is sent until it expires, then nothing', async () => {
  const { world, send } = createWorld()
  await send()
  world.isConnected = false
  expect(await send()).toBe('secret 1')
  // A refresh that the gateway received before it lost the control plane.
  world.serial = 2
  world.nowMs = HOUR_MS - 1
  expect(await send()).toBe('secret 1')
  world.nowMs = HOUR_MS
  expect(await send()).toContain('unavailable: The control plane')
  expect(world.calls).toHaveLength(1)
  expect(world.outcomes).toEqual(['miss', 'hit', 'kept', 'unavailable'])
})

test('a need without a token is refused with the error of the source, and requested again', async () => {
  const { world, send } = createWorld()
  world.reply = DOWN
  expect(await send()).toBe('unavailable: The source is down.')
  world.reply = new Error('connection reset')
  expect(await send()).toContain('unavailable: The control plane')
  world.reply = issued(1)
  expect(await send()).toBe('secret 1')
})

test('while the source fails, an outdated token is sent without a call for 2 s', async () => {
  const { world, send } = createWorld()
  await send()
  world.serial = 2
  world.reply = DOWN
  expect(await send()).toBe('secret 1')
  expect(await send()).toBe('secret 1')
  expect(world.calls).toHaveLength(2)
  world.nowMs = 2_000
  expect(await send()).toBe('secret 1')
  expect(world.calls).toHaveLength(3)
})

test('a token of a replaced stored secret is never sent', async () => {
  const { world, tokens, request, send } = createWorld()
  await send()
  world.source = 'another'
  world.reply = DOWN
  expect(tokens.state(request())).toBe('missing')
  expect(await send()).toBe('unavailable: The source is down.')
})

test('the reason why a need has no token is kept for the time that the control plane states', async () => {
  const { world, send } = createWorld()
  world.reply = { outcome: 'whole', reason: 'No repository of the Connector.', valid_ms: 1_000 }
  expect(await send()).toBe('whole: No repository of the Connector.')
  world.nowMs = 999
  await send()
  expect(world.calls).toHaveLength(1)
  world.nowMs = 1_000
  await send()
  expect(world.calls).toHaveLength(2)
})

test('without the control plane the last reason is kept', async () => {
  const { world, tokens, request, send } = createWorld()
  world.reply = { outcome: 'whole', reason: 'No repository of the Connector.', valid_ms: 1_000 }
  await send()
  world.isConnected = false
  world.nowMs = HOUR_MS
  expect(await send()).toBe('whole: No repository of the Connector.')
  expect(tokens.state(request())).toBe('whole')
  expect(world.outcomes).toEqual(['whole', 'kept'])
})

test('the least recently used of 256 needs of a Connector is evicted', async () => {
  const { world, tokens, request, send } = createWorld()
  for (let at = 0; at < 257; at++) await send(request(`acme/r${at}`))
  expect(tokens.size).toBe(256)
  await send(request('acme/r256'))
  expect(world.calls).toHaveLength(257)
  await send(request('acme/r0'))
  expect(world.calls).toHaveLength(258)
})
