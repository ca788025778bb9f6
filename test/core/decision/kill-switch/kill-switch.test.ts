import { describe, expect, test } from 'vitest'
import {
  isKillScope,
  killReason,
  matchKill,
  normaliseScope,
  unionEffective,
} from '../../../../core/decision/kill-switch/kill-switch.ts'
import type { KillEntry } from '../../../../core/wire/gateway/kill.ts'

const subject = {
  gateway: 'default/local',
  agent: 'team/bot',
  agentId: 'agent_1',
  instance: {
    pod: 'team/warm-1',
    pod_uid: 'uid-1',
    sandbox: 'team/box',
    claim: 'team/alice',
    claim_uid: 'c',
  },
  connectors: ['codehost', 'default/my-github'],
}

function entry(scope: string, source = 'api', since = '2026-01-01T00:00:00Z'): KillEntry {
  return { scope, source, reason: 'incident', since }
}

describe('kill-switch scopes', () => {
  test.each([
    ['all', true],
    ['', true],
    ['ALL', true],
    ['connector:codehost', true],
    ['Connector:CODEHOST', true],
    ['connector:my-github', true],
    ['connector:default/my-github', true],
    ['connector:payments', false],
    ['connector:bot', false],
    ['agent:team/bot', true],
    ['agent:bot', true],
    ['agent:agent_1', true],
    ['agent:other', false],
    ['agent:codehost', false],
    ['gateway:default/local', true],
    ['gateway:local', true],
    ['gateway:default', false],
    ['gateway:other', false],
    ['codehost', true],
    ['bot', true],
    ['local', true],
    ['agent_1', true],
    ['nobody', false],
    ['namespace:default', true],
    ['namespace:TEAM', true],
    ['namespace:tea', false],
    ['namespace:local', false],
    ['default', false],
    ['claim:team/alice', true],
    ['Claim:ALICE', true],
    ['claim:team/bob', false],
    ['claim:other/alice', false],
    ['claim:warm-1', false],
    ['pod:team/warm-1', true],
    ['pod:warm-1', true],
    ['pod:alice', false],
    ['alice', false],
    ['warm-1', false],
  ])('the scope %j stops the subject: %s', (scope, wanted) => {
    expect(matchKill([entry(scope)], subject) !== null).toBe(wanted)
  })

  test('before a connector or agent is known only wider scopes stop', () => {
    const early = { gateway: 'default/local', agent: null, agentId: null, instance: null, connectors: [] }
    expect(matchKill([entry('connector:codehost'), entry('agent:bot'), entry('codehost')], early)).toBeNull()
    expect(matchKill([entry('agent:bot'), entry('gateway:local')], early)?.scope).toBe('gateway:local')
  })

  test('a kill switch with the scope all is the one that is named', () => {
    expect(matchKill([entry('codehost'), entry('all')], subject)?.scope).toBe('all')
  })

  test.each([
    ['configmap', true],
    ['configmap:team', true],
    ['configmap:default', true],
    ['configmap:tenant', false],
    ['configmap:local', false],
    ['configmap:', false],
  ])(
    'a ConfigMap of a namespace covers only subjects of that namespace with any scope: %s',
    (source, wanted) => {
      for (const scope of ['all', 'codehost', 'agent:bot', 'gateway:default/local', 'namespace:team'])
        expect(matchKill([entry(scope, source)], subject) !== null, scope).toBe(wanted)
    },
  )

  test('no subject is covered without entries', () => {
    expect(matchKill([], subject)).toBeNull()
  })

  test('the union keeps every source separate and the oldest entry of each', () => {
    const later = entry('all', 'api', '2026-02-01T00:00:00Z')
    const union = unionEffective([later, entry('all'), entry('all', 'cli'), entry('agent:bot')])
    expect(union).toEqual([entry('agent:bot'), entry('all'), entry('all', 'cli')])
    expect(unionEffective([...union].reverse())).toEqual(union)
  })

  test('the union takes spellings of one scope of one source for one entry', () => {
    expect(unionEffective([entry('agent:Bot'), entry('AGENT:bot')])).toHaveLength(1)
  })

  test('a scope is everything, a kind with a name, or a bare name; any other text covers nothing', () => {
    for (const scope of [
      'all',
      'ALL',
      'codehost',
      'connector:chat',
      'Agent:my bot',
      'gateway:team/edge',
      'namespace:team',
    ]) {
      expect(isKillScope(scope), scope).toBe(true)
    }
    for (const scope of ['', ' ', 'team:x', 'agents:bot', ':bot', 'agent:', 'agent: ', 'a b', 'agent:a\nb']) {
      expect(isKillScope(scope), scope).toBe(false)
    }
  })

  test('scopes have one spelling and reasons one beginning', () => {
    expect([undefined, ' ', 'All', 'AGENT: bot', 'bot'].map(normaliseScope)).toEqual([
      'all',
      'all',
      'all',
      'agent:bot',
      'bot',
    ])
    expect(['Agent:Bot', ' agent:BOT ', 'AGENT: bOt'].map(normaliseScope)).toEqual(Array(3).fill('agent:bot'))
    expect(['Team/Bot', 'TEAM/bot'].map(normaliseScope)).toEqual(Array(2).fill('team/bot'))
    expect(killReason(entry('all'))).toBe('Kill switch active: incident')
    expect(killReason({ ...entry('all'), reason: ' ' })).toBe('Kill switch active: no reason given')
  })
})
