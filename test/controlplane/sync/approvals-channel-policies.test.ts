import { expect, test } from 'vitest'
import { MAX_CONNECTORS_TO_CHAT } from '../../../controlplane/features/chat/bot/bot.ts'
import { approvalsChannelPolicies } from '../../../controlplane/sync/sections/approvals-channel-policies.ts'
import { PolicyDocument } from '../../../core/crd/policy/policy-document.ts'

const GATEWAYS = ['gw_a', 'gw_b', 'gw_c'].map((id) => ({ id }))

function namesAt(gatewayId: string, connectors: Parameters<typeof approvalsChannelPolicies>[2]): string {
  const bound = approvalsChannelPolicies('C0APPROVALS', GATEWAYS, connectors).filter(
    ({ gatewayIds }) => gatewayIds.length === 0 || gatewayIds.includes(gatewayId),
  )
  expect(new Set(bound.map(({ entry }) => entry.id)).size).toBe(bound.length)
  return JSON.stringify(bound)
}

test('every gateway keeps agents out of the channel at hosts of the chat', () => {
  const bound = approvalsChannelPolicies('C0APPROVALS', GATEWAYS, [])
  expect(bound.map(({ gatewayIds, entry }) => [gatewayIds, entry.id])).toEqual([
    [[], 'pol_approvals_channel'],
    [[], 'pol_approvals_channel_elsewhere'],
  ])
})

test('the names of connectors that lead to the chat reach only the gateways that have them', () => {
  const connectors = [
    { name: 'one/chat', gatewayIds: ['gw_a'] },
    { name: 'two/chat', gatewayIds: ['gw_b'] },
    { name: 'both', gatewayIds: ['gw_a', 'gw_b'] },
  ]
  const [a, b, c] = GATEWAYS.map(({ id }) => namesAt(id, connectors))
  expect([a?.includes('one/chat'), a?.includes('both'), a?.includes('two/chat')]).toEqual([true, true, false])
  expect([b?.includes('one/chat'), b?.includes('both'), b?.includes('two/chat')]).toEqual([false, true, true])
  expect(c).not.toMatch(/one\/chat|two\/chat|both/)
})

test('a connector of every gateway is named at every gateway', () => {
  for (const { id } of GATEWAYS) expect(namesAt(id, [{ name: 'wide', gatewayIds: [] }])).toContain('wide')
})

test('as many connectors as may be named fit into one policy', () => {
  const connectors = Array.from({ length: MAX_CONNECTORS_TO_CHAT }, (_, n) => ({
    ...{ name: `n${n}`, gatewayIds: [] },
  }))
  const [, , named] = approvalsChannelPolicies('C0APPROVALS', GATEWAYS, connectors)
  expect(PolicyDocument.safeParse(named?.entry.document).error).toBeUndefined()
  const text = JSON.stringify(named)
  for (const { name } of connectors) expect(text).toContain(`\\"${name}\\"`)
})
