import { describe, expect, test } from 'vitest'
import { matchesPattern, type Pattern, parsePattern } from '../../../../core/action/pattern.ts'
import { AGENT_PATTERN } from '../../../../core/crd/schemas.ts'
import { permissionsOfAccessRule } from '../../../../core/decision/permissions/access-rules.ts'
import { lookupPermission } from '../../../../core/decision/permissions/permissions.ts'
import { strictness, verdictOfRule } from '../../../../core/decision/vocabulary.ts'
import type { PermissionEntry } from '../../../../core/wire/gateway/sync.ts'
import fc from '../../../support/fast-check.ts'
import { buildPermissionIndex } from '../../../support/permission-index.ts'

type Row = [pattern: string, decision: PermissionEntry['decision'], agent?: string, id?: string]

function entries(rows: Row[], connector = 'codehost'): PermissionEntry[] {
  return rows.map(([action_pattern, decision, agent = '*', id], n) => ({
    id: id ?? `perm_${String(n).padStart(4, '0')}`,
    agent,
    connector_type: connector,
    action_pattern,
    decision,
    reason: null,
    source: 'api',
    managed_by: null,
  }))
}

function winner(rows: Row[], agent: string, type: string, connector?: string): string | null {
  const match = lookupPermission(buildPermissionIndex(entries(rows, connector)), agent, type)
  return match && `${match.pattern} ${match.decision}`
}

describe('permission look-up', () => {
  test('an exact name beats every wildcard, even the agent’s own', () => {
    const rows: Row[] = [
      ['codehost.pr.merge', 'deny'],
      ['codehost.pr.*', 'allow', 'bot'],
    ]
    expect(winner(rows, 'bot', 'codehost.pr.merge')).toBe('codehost.pr.merge deny')
  })

  test('a longer prefix beats a shorter one, also when it ends inside a segment', () => {
    const rows: Row[] = [
      ['mcp.*', 'deny'],
      ['mcp.tools.*', 'require_approval'],
      ['mcp.tools.create_*', 'allow'],
    ]
    expect(winner(rows, 'a', 'mcp.tools.create_issue', 'mcp')).toBe('mcp.tools.create_* allow')
    expect(winner(rows, 'a', 'mcp.tools.delete_issue', 'mcp')).toBe('mcp.tools.* require_approval')
    expect(winner(rows, 'a', 'mcp.rpc.ping', 'mcp')).toBe('mcp.* deny')
  })

  test('at equal specificity the agent’s own permission beats the gateway’s, in both directions', () => {
    const rows: Row[] = [
      ['codehost.*', 'deny'],
      ['codehost.*', 'allow', 'bot'],
    ]
    expect(winner(rows, 'bot', 'codehost.pr.merge')).toBe('codehost.* allow')
    expect(winner(rows, 'other', 'codehost.pr.merge')).toBe('codehost.* deny')
  })

  test('at equal specificity the agent comes before a prefix of its name, the longest first, then all agents', () => {
    const rows: Row[] = [
      ['codehost.*', 'deny'],
      ['codehost.*', 'require_approval', 'team/*'],
      ['codehost.*', 'allow', 'team/run-*'],
      ['codehost.*', 'deny', 'team/run-ci-*'],
      ['codehost.*', 'require_approval', 'team/run-ci-1'],
    ]
    const of = (agent: string) => winner(rows, agent, 'codehost.pr.merge')
    expect(of('team/run-ci-1')).toBe('codehost.* require_approval')
    expect(of('team/run-ci-2')).toBe('codehost.* deny')
    expect(of('team/run-2')).toBe('codehost.* allow')
    expect(of('team/run')).toBe('codehost.* require_approval')
    expect(of('other/run-2')).toBe('codehost.* deny')
    expect(of('run-2')).toBe('codehost.* deny')
    expect(winner(rows.slice(2, 3), 'team/runner', 'codehost.pr.merge')).toBeNull()
  })

  test.each(['*', 'team/*', 'run-*', 'team/run-*', 'bot', 'team/bot', 'a bot'])('%j names agents', (text) => {
    expect(AGENT_PATTERN.test(text)).toBe(true)
  })

  test.each(['', '**', 'run*', '*-bot', 'team/*/bot', 'run-**', 'team/*-1', '-*x'])(
    '%j names no agents',
    (text) => {
      expect(AGENT_PATTERN.test(text)).toBe(false)
    },
  )

  test('on a full tie deny beats require_approval beats allow, in any order of rows', () => {
    const rows: Row[] = [
      ['codehost.*', 'allow'],
      ['codehost.*', 'deny'],
      ['codehost.*', 'require_approval'],
    ]
    for (const order of [rows, [...rows].reverse()])
      expect(winner(order, 'a', 'codehost.x.y')).toBe('codehost.* deny')
    expect(winner([rows[0]!, rows[2]!], 'a', 'codehost.x.y')).toBe('codehost.* require_approval')
  })

  test('no match returns null', () => {
    expect(winner([['codehost.pr.*', 'allow']], 'a', 'codehost.issue.create')).toBeNull()
    expect(winner([], 'a', 'codehost.issue.create')).toBeNull()
  })

  test('a deny holds against another spelling of the name, an allow does not stretch to it', () => {
    const rows: Row[] = [
      ['mcp.tools.*', 'allow'],
      ['mcp.tools.delete_repo', 'deny'],
    ]
    expect(winner(rows, 'a', 'mcp.tools.Delete_Repo', 'mcp')).toBe('mcp.tools.delete_repo deny')
    expect(winner([['mcp.tools.read', 'allow']], 'a', 'mcp.tools.READ', 'mcp')).toBeNull()
  })

  test('a permission speaks only of the connector type it was written for', () => {
    expect(winner([['*', 'allow']], 'a', 'payments.charge.create', 'codehost')).toBeNull()
    expect(winner([['*', 'allow']], 'a', 'codehost.pr.merge', 'codehost')).toBe('* allow')
    expect(winner([['payments.*', 'allow']], 'a', 'payments.charge.create', 'codehost')).toBeNull()
  })

  test('unmapped requests are allowed by <connector>.*, <connector>.unmapped.* and the exact name only', () => {
    const type = 'codehost.unmapped.post'
    for (const pattern of ['*', 'codehost.un*', 'codehost.unmapped.p*']) {
      expect(winner([[pattern, 'allow']], 'a', type)).toBeNull()
      expect(winner([[pattern, 'deny']], 'a', type)).toBe(`${pattern} deny`)
    }
    for (const pattern of ['codehost.*', 'codehost.unmapped.*', type]) {
      expect(winner([[pattern, 'allow']], 'a', type)).toBe(`${pattern} allow`)
    }
  })

  test('a message that cannot be read is allowed by its exact name only', () => {
    const type = 'mcp.rpc.unknown'
    for (const pattern of ['*', 'm*', 'mcp.*', 'mcp.rpc.*', 'mcp.rpc.un*', 'mcp.rpc.unknown*']) {
      expect(winner([[pattern, 'allow']], 'a', type, 'mcp')).toBeNull()
      expect(winner([[pattern, 'deny']], 'a', type, 'mcp')).toBe(`${pattern} deny`)
      expect(winner([[pattern, 'require_approval']], 'a', type, 'mcp')).toBe(`${pattern} require_approval`)
    }
    expect(winner([[type, 'allow']], 'a', type, 'mcp')).toBe(`${type} allow`)
    expect(winner([['mcp.rpc.*', 'allow']], 'a', 'mcp.rpc.ping', 'mcp')).toBe('mcp.rpc.* allow')
  })

  test('agrees with a linear scan on any set of rules', () => {
    const type = fc
      .array(fc.constantFrom('pr', 'PR', 'merge', 'unmapped', 'get', 'create_x', 'create_y'), {
        minLength: 1,
        maxLength: 3,
      })
      .map((parts) => ['codehost', ...parts].join('.'))
    const pattern = fc.oneof(
      type,
      type.map((text) => `${text}.*`),
      type.chain((text) => fc.integer({ min: 9, max: text.length }).map((end) => `${text.slice(0, end)}*`)),
      fc.constant('codehost.*'),
      fc.constant('*'),
    )
    const row = fc.tuple(
      pattern,
      fc.constantFrom('allow', 'deny', 'require_approval') as fc.Arbitrary<PermissionEntry['decision']>,
      fc.constantFrom('*', 'bot', 'cat'),
    )
    fc.assert(
      fc.property(fc.array(row, { maxLength: 12 }), type, (rows, actionType) => {
        const all = entries(rows)
        const match = lookupPermission(buildPermissionIndex(all), 'bot', actionType)
        const wanted = scan(all, 'bot', actionType)
        expect(match && [match.decision, match.agent]).toEqual(wanted && [wanted.decision, wanted.agent])
      }),
      { numRuns: 2_000 },
    )
  })
})

function scan(all: PermissionEntry[], agent: string, type: string): PermissionEntry | null {
  const matching = all.filter((entry) => {
    if (entry.agent !== '*' && entry.agent !== agent) return false
    return matchesPattern(
      parsePattern(entry.action_pattern),
      type,
      entry.decision === 'allow' ? 'allow' : 'tighten',
    )
  })
  const rank = (entry: PermissionEntry) => {
    const pattern = parsePattern(entry.action_pattern)
    return {
      pattern: { ...pattern, text: '' },
      isOwn: entry.agent === agent,
      strict: strictness(verdictOfRule(entry.decision)),
    }
  }
  matching.sort((a, b) => {
    const [x, y] = [rank(a), rank(b)]
    return comparePatterns(x.pattern, y.pattern) || Number(y.isOwn) - Number(x.isOwn) || y.strict - x.strict
  })
  return matching[0] ?? null
}

/** Exact before wildcard, longer prefix before shorter. */
function comparePatterns(a: Pattern, b: Pattern): number {
  if (a.isExact !== b.isExact) return a.isExact ? -1 : 1
  return b.prefix.length - a.prefix.length
}

describe('access rules', () => {
  const rows = [
    { type: 'codehost.pr.get', effect: 'read' },
    { type: 'codehost.pr.merge', effect: 'write' },
    { type: 'codehost.markdown.render', effect: 'compute' },
    { type: 'codehost.mixed.thing', effect: 'read' },
    { type: 'codehost.mixed.thing', effect: 'write' },
    { type: 'codehost.unmapped.get', effect: 'read' },
  ] as const

  function decisionUnder(
    rule: Parameters<typeof permissionsOfAccessRule>[1],
    type: string,
  ): string | undefined {
    const written = permissionsOfAccessRule('codehost', rule, rows)
    const index = buildPermissionIndex(
      entries(written.map(({ pattern, decision }): Row => [pattern, decision])),
    )
    return lookupPermission(index, 'bot', type)?.decision
  }

  test.each([
    ['allow_all', 'codehost.pr.merge', 'allow'],
    ['allow_all', 'codehost.unmapped.post', 'allow'],
    ['read_only', 'codehost.pr.get', 'allow'],
    ['read_only', 'codehost.markdown.render', 'allow'],
    ['read_only', 'codehost.pr.merge', 'deny'],
    ['read_only', 'codehost.mixed.thing', 'deny'],
    ['read_only', 'codehost.unmapped.get', 'deny'],
    ['require_approval', 'codehost.pr.get', 'allow'],
    ['require_approval', 'codehost.pr.merge', 'require_approval'],
    ['require_approval', 'codehost.unmapped.get', 'require_approval'],
  ] as const)('%s: %s is %s', (rule, type, wanted) => {
    expect(decisionUnder(rule, type)).toBe(wanted)
  })

  test('allow_all of mcp names the message that no wildcard allows', () => {
    const mcp = ['mcp.rpc.ping', 'mcp.rpc.unknown'].map((type) => ({ type, effect: 'write' }) as const)
    expect(permissionsOfAccessRule('mcp', 'allow_all', mcp)).toEqual([
      { pattern: 'mcp.*', decision: 'allow' },
      { pattern: 'mcp.rpc.unknown', decision: 'allow' },
    ])
    expect(permissionsOfAccessRule('codehost', 'allow_all', rows)).toEqual([
      { pattern: 'codehost.*', decision: 'allow' },
    ])
  })

  test('custom is exactly the list that was given', () => {
    const own = [{ pattern: 'codehost.pr.*', decision: 'require_approval' }] as const
    expect(permissionsOfAccessRule('codehost', 'custom', rows, own)).toEqual(own)
  })
})
