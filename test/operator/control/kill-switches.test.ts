import { describe, expect, test } from 'vitest'
import {
  isInForce,
  killSwitchOfConfigMap,
  killSwitchOfGateway,
} from '../../../operator/control/kill-switches.ts'
import { gateway, metadata } from '../status/status-world.ts'

describe('a kill switch', () => {
  test('of a Gateway applies to that Gateway, or to its scopes', () => {
    const on = { active: true, reason: ' why ' }
    expect(killSwitchOfGateway(gateway({ killSwitch: on }))).toMatchObject({
      ...{ source: 'manifest:team/prod', scopes: ['gateway:team/prod'], reason: 'why', revision: 7 },
    })
    const scopes = [
      { kind: 'Agent', name: 'x' },
      { kind: 'Connector', name: 'codehost' },
      { kind: 'Claim', name: 'team/alice' },
    ]
    expect(killSwitchOfGateway(gateway({ killSwitch: { ...on, scopes } })).scopes).toEqual([
      'agent:x',
      'connector:codehost',
      'claim:team/alice',
    ])
    expect(killSwitchOfGateway(gateway({ killSwitch: { active: false } })).scopes).toEqual([])
    expect(killSwitchOfGateway(gateway()).scopes).toEqual([])
  })

  const mapOf = (namespace: string, data?: Record<string, string>) =>
    killSwitchOfConfigMap({ metadata: { ...metadata, namespace }, ...(data && { data }) }, 'system')
  const map = (data: Record<string, string>) => mapOf('system', data)
  test.each(['true', 'TRUE', ' yes ', '1', 'on', 'ture'])(
    'by ConfigMap is on for %j: a slip of the pen is no all-clear',
    (active) => {
      expect(map({ active })?.scopes).toEqual(['all'])
    },
  )
  test.each(['false', 'No', 'off', '0', '', ' '])('by ConfigMap is off for %j', (active) => {
    expect(map({ active })?.scopes).toEqual([])
  })
  test('by ConfigMap splits scopes, and applies to everything if one of them is invalid', () => {
    expect(map({ active: 'true', scopes: 'connector:codehost, agent:team/x\ngateway:prod' })?.scopes).toEqual(
      ['connector:codehost', 'agent:team/x', 'gateway:prod'],
    )
    const slip = map({ active: 'true', scopes: 'agents:x' })
    expect([slip?.scopes, slip?.problems.length]).toEqual([['all'], 1])
  })
  test.each<[string, readonly string[]]>([
    ['claim:job-1', ['claim:job-1']],
    ['pod:team/web-1, Claim:Alice', ['pod:team/web-1', 'claim:alice']],
    ['namespace', ['namespace']],
  ])('by ConfigMap applies to one instance or name only: %j', (scopes, wanted) => {
    const stop = map({ active: 'true', scopes })
    expect([stop?.scopes, stop?.problems]).toEqual([wanted, []])
    expect(mapOf('team', { active: 'true', scopes })?.scopes).toEqual(wanted)
  })
  test.each(['pod:', 'claim:other/x:y', 'connector:agent:bot', 'pods:web-1', 'a:b'])(
    'by ConfigMap applies to everything if a scope is misspelt: %j',
    (scopes) => {
      const stop = map({ active: 'true', scopes })
      expect([stop?.scopes, stop?.problems.length]).toEqual([['all'], 1])
      expect(stop?.problems[0]).toContain('claim:NAME, pod:NAME')
    },
  )
  test('by a ConfigMap without `active` is neither activated nor lifted', () => {
    for (const data of [undefined, {}, { reason: 'why' }, { scopes: 'all' }])
      expect(mapOf('team', data)).toBeNull()
  })
  test.each<[string, readonly string[], number]>([
    ['', ['namespace:team'], 0],
    ['ALL', ['namespace:team'], 0],
    ['agent:team/x connector:codehost bot', ['agent:team/x', 'connector:codehost', 'bot'], 0],
    ['gateway:team/prod,namespace:team', ['gateway:team/prod', 'namespace:team'], 0],
    ['agent:other/x', ['namespace:team'], 1],
    ['namespace:other, agent:x', ['namespace:team', 'agent:x'], 1],
    ['Gateway:OTHER/prod', ['namespace:team'], 1],
    ['other/bot', ['namespace:team'], 1],
    ['claim:other/alice', ['namespace:team'], 1],
    ['pod:TEAM/web-1', ['pod:team/web-1'], 0],
    ['agents:x', ['namespace:team'], 1],
  ])('by the ConfigMap of a namespace applies to that namespace: %j', (scopes, wanted, problems) => {
    const found = mapOf('team', { active: 'true', scopes })
    expect([found?.source, found?.scopes, found?.problems.length]).toEqual([
      'configmap:team',
      wanted,
      problems,
    ])
  })
  test('is in force only when a replica holds exactly its scopes with its reason', () => {
    const found = killSwitchOfGateway(gateway({ killSwitch: { active: true, reason: 'why' } }))
    const entry = { scope: 'gateway:team/prod', source: found.source, reason: 'why', since: '' }
    expect(isInForce(found, [entry])).toBe(true)
    expect(isInForce(found, [])).toBe(false)
    expect(isInForce(found, [{ ...entry, reason: 'other' }])).toBe(false)
    expect(isInForce(found, [entry, { ...entry, scope: 'agent:x' }])).toBe(false)
    expect(isInForce({ ...found, scopes: [] }, [])).toBe(true)
  })
})
