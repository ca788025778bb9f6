import { describe, expect, it } from 'vitest'
import { invalidPolicyEntry } from '../../../core/decision/policies/invalid-policy.ts'
import { expectRefused, LIST, MERGE, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules, World } from './test-world.ts'

const ALLOWED: Rules = { permissions: [['codehost.*', 'allow']] }
const deny = { name: 'no-merges', conditions: [], decision: 'deny' }

/** Refuses the request and returns what the record says for the audit log. */
async function refused(rules: Rules, input: TestExchangeInput, change: (world: World) => void = () => {}) {
  const world = await start({ ...ALLOWED, ...rules })
  change(world)
  await world.send(input)
  expectRefused(world)
  const [record] = world.records
  return { reason: record?.reason, act_id: record?.act_id, audit: record?.audit ?? null }
}

describe('the audit event of a denial', () => {
  it('names the invalid policy that denied its scope, as the event of a valid policy does', async () => {
    const invalid = invalidPolicyEntry({
      ...{ id: 'pol_broken', name: 'team/broken', version: 1, reason: 'Unknown variable: actoin.' },
      spec: { scope: { actions: ['codehost.pr.merge'] } },
    })
    expect(await refused({ policies: [invalid] }, MERGE)).toMatchObject({
      reason: 'policy_invalid',
      act_id: expect.stringMatching(/^act_/),
      audit: { matched_policy: 'pol_broken', matched_rule: 'policy_invalid' },
    })
    const valid = { id: 'pol_valid', document: { rules: [deny] } }
    expect(await refused({ policies: [valid] }, MERGE)).toMatchObject({
      reason: 'policy',
      audit: { matched_policy: 'pol_valid', matched_rule: 'no-merges' },
    })
  })

  it('names the pattern of the permission that denied', async () => {
    const rules: Rules = {
      permissions: [
        ['codehost.*', 'allow'],
        ['codehost.pr.*', 'deny'],
      ],
    }
    expect(await refused(rules, MERGE)).toMatchObject({
      reason: 'permission',
      audit: { matched_policy: null, matched_rule: 'codehost.pr.*' },
    })
  })

  it('names no rule where the default denied', async () => {
    expect(await refused({ permissions: [] }, MERGE)).toMatchObject({
      reason: 'permission',
      audit: { matched_policy: null, matched_rule: null },
    })
  })

  it.each<[string, Rules, (world: World) => void]>([
    ['agent', { agents: [{ status: 'suspended' }] }, () => {}],
    [
      'rate_limit',
      {},
      ({ state }) => {
        state.rate = { ok: false, retryAfterS: 7 }
      },
    ],
    [
      'not_ready',
      {},
      ({ state }) => {
        state.lease = 'everything'
      },
    ],
  ])('does not exist for %s, which judges no action', async (reason, rules, change) => {
    expect(await refused(rules, LIST, change)).toEqual({ reason, act_id: null, audit: null })
  })
})
