import { describe, expect, test } from 'vitest'
import { findConnector } from '../../../core/connectors/registry.ts'
import { decide } from '../../../core/decision/decide.ts'
import { decideUnowned } from '../../../core/decision/egress.ts'
import { lookupPermission } from '../../../core/decision/permissions/permissions.ts'
import { buildSnapshot } from '../../../core/snapshot/build.ts'
import { notUnderstoodWarnings, type Snapshot } from '../../../core/snapshot/snapshot.ts'
import { addressedEntry } from '../../../core/wire/gateway/sections/addressed-entry.ts'
import type { FieldAddition } from '../../../core/wire/gateway/sections/field-additions.ts'
import { inputOf } from '../decision/fixtures.ts'
import { agent, connector, input, permission, policy, gateway as relaxed } from './section-contents.ts'

const gateway = { ...relaxed, enforcementLevel: 'full_enforce' }
const ENTRIES = {
  gateway,
  agents: agent,
  connectors: connector,
  policies: policy,
  'permissions.03': permission,
}
type Section = keyof typeof ENTRIES

function sections(version: number, changes: Record<string, unknown> = {}) {
  return input(version, { gateway, ...changes })
}

function withEntry(section: Section, entry: unknown): Record<string, unknown> {
  return { [section]: section === 'gateway' ? entry : [entry] }
}

function snapshotWith(section: Section, entry: unknown, previous?: Snapshot): Snapshot {
  return buildSnapshot(sections(2, withEntry(section, entry)), previous)
}

/** Decides an allowed action of the agent `name` at the connector `at`, with rules that allow it. */
function verdictIn(
  { permissions, policies, gateway: { level, defaultVerdict } }: Snapshot,
  name = 'bot',
  at = 'default/git',
) {
  const given = inputOf({ type: 'codehost.issue.create' })
  const { verdict, reason } = decide(
    { permissions, policies, level, defaultVerdict },
    { ...given, agent: { ...given.agent, name }, connector: { name: at, type: 'codehost' } },
  )
  return { verdict, reason }
}

describe('a field that this version does not know', () => {
  test.each<[string, Section, unknown]>([
    ['of the section of the gateway', 'gateway', { ...gateway, lockdown: 1 }],
    ['in egress', 'gateway', { ...gateway, egress: { ...gateway.egress, mirror: { to: 'x' } } }],
    [
      'in an entry of egress.tcp',
      'gateway',
      { ...gateway, egress: { ...gateway.egress, tcp: [{ host: 'db.test', port: 5432, tls: true }] } },
    ],
    ['of an agent', 'agents', { ...agent, team: 'a' }],
    ['in auth', 'connectors', { ...connector, auth: { type: 'token', rotate: 'daily' } }],
    [
      'in a row of the user',
      'connectors',
      {
        ...connector,
        actions: [
          { method: 'GET', path: '/x', action: 'codehost.x.get', effect: 'read', risk: 'low', cost: 1 },
        ],
      },
    ],
    ['in the upstream', 'connectors', { ...connector, upstream: { ...connector.upstream, proxy: 'x' } }],
    ['of a permission', 'permissions.03', { ...permission, expires: '2030' }],
    [
      'in the scope of a policy',
      'policies',
      { ...policy, document: { ...policy.document, scope: { teams: ['a'] } } },
    ],
    [
      'in a rule of a policy',
      'policies',
      {
        ...policy,
        document: { rules: [{ name: 'r', decision: 'deny', conditions: ['false'], window: '9-5' }] },
      },
    ],
  ])('%s is ignored: the configuration comes into force', (_place, section, entry) => {
    const before = buildSnapshot(sections(1))
    const snapshot = snapshotWith(section, entry, before)
    expect(snapshot.version).toBe(2)
    expect(notUnderstoodWarnings(snapshot)).toEqual([])
    expect(verdictIn(snapshot).verdict).toBe('allow')
  })
})

describe('a critical field that this version does not know', () => {
  const critical = (section: Section, field: string, more: object = {}) =>
    snapshotWith(section, { ...ENTRIES[section], ...more, critical: [field] })

  test('of a connector denies its hosts, and no others', () => {
    const snapshot = critical('connectors', 'auth.rotate')
    const { verdict, reason } = verdictIn(snapshot)
    expect(verdict).toBe('deny')
    expect(reason).toMatch(
      /^Connector "default\/git" uses auth\.rotate, which this version of the gateway does not/,
    )
    expect(verdictIn(snapshot, 'bot', 'default/other').verdict).toBe('allow')
    expect(findConnector(snapshot.hosts, 'git.example.com', 443)?.entry.secret).toBeNull()
    expect(notUnderstoodWarnings(snapshot)).toEqual([expect.stringContaining('Upgrade the gateway.')])
  })

  test.each([
    ['deny', 'deny'],
    ['require_approval', 'deny'],
    ['allow', 'allow'],
  ])('an unknown effect class with the decision %s: %s', (decision, verdict) => {
    const entry = { ...permission, id: 'perm_2', action_pattern: 'effect:teleport', decision }
    const snapshot = buildSnapshot(sections(2, { 'permissions.03': [permission, entry] }))
    expect(verdictIn(snapshot).verdict).toBe(verdict)
    expect(notUnderstoodWarnings(snapshot)).toEqual([expect.stringContaining('uses action_pattern, which')])
  })

  test('of a permission denies what it covers', () => {
    const { verdict, reason } = verdictIn(critical('permissions.03', 'expires'))
    expect({ verdict, reason }).toEqual({
      verdict: 'deny',
      reason: expect.stringContaining('uses expires, which'),
    })
    const narrow = critical('permissions.03', 'expires', { action_pattern: 'codehost.pr.*' })
    expect(lookupPermission(narrow.permissions, 'bot', 'codehost.pr.merge')?.decision).toBe('deny')
    expect(lookupPermission(narrow.permissions, 'bot', 'codehost.issue.create')).toBeNull()
  })

  test('of a policy denies its scope, whatever its rules say', () => {
    const document = { scope: { agents: ['bot'] }, rules: [{ name: 'r', decision: 'allow', window: '9-5' }] }
    const snapshot = critical('policies', 'document.rules.window', { document })
    expect(verdictIn(snapshot)).toEqual({
      verdict: 'deny',
      reason: expect.stringContaining('Policy "guard" uses document.rules.window, which'),
    })
    expect(verdictIn(snapshot, 'other').verdict).toBe('allow')
  })

  test('of a policy in monitor mode denies nothing', () => {
    expect(verdictIn(critical('policies', 'document.rules.window', { mode: 'monitor' })).verdict).toBe(
      'allow',
    )
  })

  test('of a policy of an admitted namespace denies for agents of that namespace only', () => {
    const snapshot = critical('policies', 'document.rules.window', { tier: 'guest', agentsOf: 'team-b' })
    expect(verdictIn(snapshot, 'team-b/bot').verdict).toBe('deny')
    expect(verdictIn(snapshot, 'team-a/bot').verdict).toBe('allow')
  })

  test('of an agent denies that agent', () => {
    const snapshot = critical('agents', 'team')
    expect(verdictIn(snapshot)).toEqual({
      verdict: 'deny',
      reason: expect.stringContaining('Agent "bot" uses team'),
    })
    expect(verdictIn(snapshot, 'other').verdict).toBe('allow')
    expect(snapshot.agentsByName.get('bot')?.status).toBe('active')
  })

  test('of the gateway denies everything, also hosts without a connector and at the level monitor', () => {
    const open = { enforcementLevel: 'monitor', egress: { ...gateway.egress, unmatchedHosts: 'tunnel' } }
    const snapshot = critical('gateway', 'egress.mirror', open)
    expect(verdictIn(snapshot).verdict).toBe('deny')
    expect(decideUnowned(snapshot, 'free.example.com', 443)).toMatchObject({
      verdict: 'deny',
      reason: expect.stringContaining('Gateway "default/local" uses egress.mirror'),
    })
  })

  test('is none if this version knows it', () => {
    const snapshot = critical('connectors', 'upstream.url')
    expect(notUnderstoodWarnings(snapshot)).toEqual([])
    expect(verdictIn(snapshot).verdict).toBe('allow')
  })

  test('denies until its entry is sent without the field, whichever other sections are sent before', () => {
    const broken = critical('connectors', 'auth.rotate')
    const entry = { ...connector, critical: ['auth.rotate'] }
    const same = buildSnapshot(sections(3, { connectors: [entry], policies: [] }), broken)
    expect(verdictIn(same).verdict).toBe('deny')
    const renewed = buildSnapshot(sections(4, { connectors: [entry], policies: [], agents: [] }), same)
    expect(verdictIn(renewed).verdict).toBe('deny')
    const good = buildSnapshot(sections(5, { policies: [], agents: [] }), renewed)
    expect(verdictIn(good).verdict).toBe('allow')
    expect(notUnderstoodWarnings(good)).toEqual([])
  })
})

describe('a value that only a newer version accepts', () => {
  test.each<[Section, object]>([
    ['connectors', { auth: { type: 'mtls' } }],
    ['connectors', { errorShape: 'rfc9457' }],
    ['permissions.03', { decision: 'quarantine' }],
    ['policies', { document: { rules: [{ name: 'r', decision: 'delay' }] } }],
    [
      'policies',
      { document: { scope: { actions: Array(65).fill('*') }, rules: [{ name: 'r', decision: 'allow' }] } },
    ],
    ['agents', { status: 'sleeping' }],
  ])('of %s denies its scope', (section, changes) => {
    const snapshot = snapshotWith(section, { ...ENTRIES[section], ...changes })
    expect(verdictIn(snapshot).verdict).toBe('deny')
    expect(notUnderstoodWarnings(snapshot)).toHaveLength(1)
  })

  test('a connector of an unknown type denies its hosts', () => {
    const snapshot = snapshotWith('connectors', { ...connector, type: 'telnet' })
    expect(findConnector(snapshot.hosts, 'git.example.com', 443)?.entry.name).toBe('default/git')
    expect(verdictIn(snapshot).verdict).toBe('deny')
  })

  test('a connector of an unknown type without hosts closes egress, because its hosts are unknown', () => {
    const open = { ...gateway, egress: { ...gateway.egress, unmatchedHosts: 'tunnel' } }
    const given = { gateway: open, connectors: [{ ...connector, type: 'telnet', domains: [] }] }
    const snapshot = buildSnapshot(sections(1, given))
    expect(decideUnowned(snapshot, 'free.example.com', 443).verdict).toBe('deny')
    const good = buildSnapshot(sections(2, { gateway: open }), snapshot)
    expect(decideUnowned(good, 'free.example.com', 443).verdict).toBe('allow')
  })
})

describe('entries for a gateway of an older protocol', () => {
  const additions: readonly FieldAddition[] = [
    { section: 'policies', field: 'document.rules.note', since: 2, older: 'ignore' },
    { section: 'policies', field: 'document.rules.window', since: 3, older: 'deny' },
    { section: 'connectors', field: 'auth.rotate', since: 3, older: 'deny' },
  ]
  const rules = [
    { name: 'r', note: 'n' },
    { name: 's', window: '9-5' },
  ]
  const entry = { id: 'pol_1', document: { rules } }
  const addressed = (protocol: number, given: unknown = entry) =>
    addressedEntry(given, 'policies', { protocol, additions })

  test('have no field that it may ignore, and list those that it must not', () => {
    const [, last] = rules
    expect(addressed(1)).toEqual({
      id: 'pol_1',
      document: { rules: [{ name: 'r' }, last] },
      critical: ['document.rules.window'],
    })
    expect(addressed(2)).toEqual({ ...entry, critical: ['document.rules.window'] })
    expect(addressed(3)).toBe(entry)
  })

  test('list no critical field that they do not have', () => {
    expect(addressed(1, { document: { rules: [{ name: 'r' }] } })).toEqual({
      document: { rules: [{ name: 'r' }] },
    })
  })
})
