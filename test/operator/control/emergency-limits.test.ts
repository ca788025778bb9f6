import { describe, expect, test } from 'vitest'
import { parseInput } from '../../../controlplane/http/input.ts'
import { isKillScope } from '../../../core/decision/kill-switch/kill-switch.ts'
import { KillRelayBody } from '../../../core/wire/operator/operator.ts'
import { killSwitchOfConfigMap } from '../../../operator/control/kill-switches.ts'

const metadata = { namespace: 'team', name: 'chaperone-emergency', uid: 'u', resourceVersion: '7' }
const many = Array.from({ length: 65 }, (_, n) => `agent:x${n}`).join(',')

/** A request that the control plane refuses would be a kill switch that is never set. */
describe('an emergency ConfigMap that exceeds what the control plane accepts', () => {
  test.each<[string, Record<string, string>, readonly string[], number]>([
    ['a long reason', { reason: `${'r'.repeat(999)}😀 ${'s'.repeat(100)}` }, ['namespace:team'], 0],
    [
      'a long reason with a blank at the limit',
      { reason: `${'r'.repeat(999)} ${'s'.repeat(9)}` },
      ['namespace:team'],
      0,
    ],
    ['a reason with control characters', { reason: 'why\0\u0001\nnot' }, ['namespace:team'], 0],
    ['a scope with a control character', { scopes: 'agent:b\u0001t' }, ['namespace:team'], 1],
    ['a long scope', { scopes: `agent:${'x'.repeat(300)} agent:y` }, ['namespace:team', 'agent:y'], 1],
    ['too many scopes', { scopes: many }, ['namespace:team'], 1],
  ])('activates the kill switch with %s', (_, data, wanted, count) => {
    const found = killSwitchOfConfigMap({ metadata, data: { active: 'true', ...data } }, 'system')
    if (found === null) throw new Error('the ConfigMap says whether it is active')
    const { problems, ...body } = found
    expect([body.scopes, problems.length]).toEqual([wanted, count])
    expect(parseInput(KillRelayBody, body)).toEqual(body)
    expect(body.scopes.every(isKillScope)).toBe(true)
    expect(JSON.stringify(body.reason).length).toBe(body.reason.length + 2)
    // The control plane trims reasons, and the operator compares them.
    expect(body.reason).toBe(body.reason.trim())
  })
})
