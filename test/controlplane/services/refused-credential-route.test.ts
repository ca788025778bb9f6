import { expect, test } from 'vitest'
import {
  credentials,
  narrowedToken,
} from '../../../controlplane/features/gateways/processes/credential-routes.ts'
import type { Principal } from '../../../controlplane/http/route.ts'
import type { SectionLibrary } from '../../../controlplane/sync/sections/library.ts'

const GATEWAY = { kind: 'gateway', gatewayId: 'gw_1', name: 'default/local', processId: 'p', sidecar: null }
const sidecarOf = (name: string) => ({ ...GATEWAY, sidecar: { agent: { id: name, name } } })

/** Sections of the agent `bot`, of a gateway without sidecars, and none of other agents. */
const CONNECTORS: Readonly<Record<string, readonly object[]>> = {
  bot: [
    { id: 'con_usable', secret: 'token', minted: { narrow: true } },
    { id: 'con_hidden', secret: null, minted: { narrow: false } },
    { id: 'con_new', secret: null, minted: { narrow: true } },
  ],
}
const library = {
  of: (gatewayId: string, { agent }: { agent: string }) => {
    const entries = gatewayId === 'gw_1' ? CONNECTORS[agent] : undefined
    return entries === undefined ? null : { texts: new Map([['connectors', JSON.stringify(entries)]]) }
  },
} as unknown as SectionLibrary

/** Returns the reply of the control plane, and the Connectors whose secret it has replaced. */
async function send(principal: object, connectorId: string) {
  const replaced: string[] = []
  const refused = async ({ secret }: { secret: { connector_id: string } }) => {
    replaced.push(secret.connector_id)
    return true
  }
  const reply = await credentials({ credentials: { refused }, library }).handler({
    principal: principal as Principal,
    body: { connector_id: connectorId, serial: 1 },
  } as never)
  return { reply, replaced }
}

test('a sidecar has the secret replaced of a Connector that its agent may use', async () => {
  expect(await send(sidecarOf('bot'), 'con_usable')).toEqual({
    reply: { refreshing: true },
    replaced: ['con_usable'],
  })
})

test.each([
  ['without a secret for its agent', 'bot', 'con_hidden'],
  ['that its agent does not have', 'bot', 'con_other'],
  ['of an agent that is not known', 'other', 'con_usable'],
])('a sidecar does not have the secret replaced of a Connector %s', async (_what, agent, connectorId) => {
  expect(await send(sidecarOf(agent), connectorId)).toEqual({ reply: { refreshing: false }, replaced: [] })
})

test('a gateway without an agent of its own has the secret of each of its Connectors replaced', async () => {
  expect(await send(GATEWAY, 'con_other')).toEqual({ reply: { refreshing: true }, replaced: ['con_other'] })
})

/** Returns the reply to a request for a token, and the Connectors for which one was issued. */
async function requestToken(principal: object, connectorId: string) {
  const issued: string[] = []
  const get = async (_gateway: object, body: { connector_id: string }) => {
    issued.push(body.connector_id)
    return { outcome: 'whole' as const, reason: '', valid_ms: 0 }
  }
  const reply = await narrowedToken({ narrowedTokens: { get }, library }).handler({
    principal: principal as Principal,
    body: { connector_id: connectorId, actions: [], reads_more: false },
  } as never)
  return { reply, issued }
}

test('a sidecar gets tokens of the Connectors that its agent may use, and of no others', async () => {
  // The own token of `con_new` has not been minted yet.
  for (const id of ['con_usable', 'con_new'])
    expect((await requestToken(sidecarOf('bot'), id)).issued).toEqual([id])
  for (const [agent, connectorId] of [
    ['bot', 'con_hidden'],
    ['bot', 'con_other'],
    ['other', 'con_usable'],
  ] as const) {
    const { reply, issued } = await requestToken(sidecarOf(agent), connectorId)
    expect(reply).toMatchObject({ outcome: 'unavailable' })
    expect(issued).toEqual([])
  }
})
