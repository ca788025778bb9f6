import { describe, expect, test } from 'vitest'
import {
  assertRepeatedFieldsAgree,
  parsePolicyYaml,
} from '../../../../core/decision/policies/policy-document.ts'
import { runPolicyTests } from '../../../../core/decision/policies/policy-tests.ts'
import { ChaperoneError } from '../../../../core/errors.ts'

const GOOD = `description: Destructive work in production needs a person, some of it is never allowed
scope: { actions: ["codehost.*", "payments.*"], agents: ["*"], environments: [production], connectors: [] }
rules:
  - name: never-delete-repos
    conditions: ['action.type == "codehost.repo.delete"']
    decision: deny
    reason: Repositories are deleted by people
  - name: risky-needs-approval
    conditions: ['risk.score >= 0.6 || hints.irreversible']
    decision: require_approval
    approver_groups: [release-managers]
tests:
  - name: deleting a repo is denied
    action: { type: codehost.repo.delete, resource: { provider: codehost, target: acme/site } }
    expect: { outcome: deny, rule: never-delete-repos }
  - name: an issue is none of its business
    action: { type: codehost.issue.create, resource: { provider: codehost } }
    expect: { outcome: no_opinion }
`

function detailOf(text: string): string {
  try {
    parsePolicyYaml(text)
  } catch (error) {
    expect(error).toBeInstanceOf(ChaperoneError)
    expect((error as ChaperoneError).code).toBe('validation')
    return (error as Error).message
  }
  return 'accepted'
}

describe('policy text', () => {
  test('reads the documented example', () => {
    const { document, warnings, repeated } = parsePolicyYaml(GOOD)
    expect(document.rules.map(({ name }) => name)).toEqual(['never-delete-repos', 'risky-needs-approval'])
    expect(document.scope.environments).toEqual(['production'])
    expect({ warnings, repeated }).toEqual({ warnings: [], repeated: {} })
  })

  test.each([
    ['rules:\n  - name: a\n    decision: maybe\n', /^line 3: rules\[0\]\.decision: /],
    [
      'rules:\n  - name: a\n    decision: deny\n    color: red\n',
      /^line 4: rules\[0\]\.color: is unknown; remove it, or use one of name, conditions/,
    ],
    ['scope: {}\n', /^line 1: rules: /],
    ['rules:\n  - name: a\n    decision: deny\n    decision: allow\n', /^line 4: Map keys must be unique/],
    ['rules: [\n', /^line \d+: /],
    [
      'scope: { actions: ["a.*.b"] }\nrules: [{ name: a, decision: deny }]\n',
      /^line 1: scope\.actions\[0\]: /,
    ],
    [
      'rules:\n  - name: a\n    decision: deny\n    conditions:\n      - true\n',
      /^line 5: rules\[0\]\.conditions\[0\]: /,
    ],
    [
      "rules:\n  - name: a\n    decision: deny\n    conditions:\n      - 'nope == 1'\n",
      /^line 5: rules\[0\]\.conditions\[0\]: rule "a", condition 1, column 1: Unknown variable: nope/,
    ],
    ['- a\n- b\n', /must be a mapping/],
    ['', /must be a mapping/],
    ['a: 1\n---\nb: 2\n', /document/],
  ])('names line and path: %j', (text, wanted) => {
    expect(detailOf(text)).toMatch(wanted)
  })

  test('several mistakes are joined by semicolons', () => {
    const detail = detailOf('rules:\n  - name: a\n    decision: maybe\n  - decision: deny\n')
    expect(detail.split('; ')).toHaveLength(2)
    expect(detail).toContain('line 4: rules[1].name')
  })

  test('an alias bomb and an oversized text are refused', () => {
    const levels = Array.from({ length: 12 }, (_, n) =>
      n === 0
        ? 'a0: &a0 [x, x, x, x, x, x, x, x, x]'
        : `a${n}: &a${n} [${Array(9)
            .fill(`*a${n - 1}`)
            .join(', ')}]`,
    )
    expect(detailOf(levels.join('\n'))).toContain('too many aliases')
    expect(detailOf(`description: ${'x'.repeat(300_000)}`)).toContain('longer than')
  })

  test('a record field in the text must agree with the record', () => {
    const { repeated } = parsePolicyYaml(`name: prod\npriority: 7\n${GOOD}`)
    expect(repeated).toEqual({ name: 'prod', priority: 7 })
    assertRepeatedFieldsAgree(repeated, { name: 'prod', priority: 7, tags: ['x'] })
    expect(() => assertRepeatedFieldsAgree(repeated, { name: 'prod', priority: 8 })).toThrow('priority')
    assertRepeatedFieldsAgree(repeated, {})
  })

  test('warns about rules that can never apply and about groups without approval', () => {
    const { warnings } = parsePolicyYaml(
      'rules:\n  - { name: a, decision: deny, approver_groups: [x] }\n  - { name: a, decision: allow }\n',
    )
    expect(warnings).toHaveLength(3)
    expect(warnings.join(' ')).toContain('never applies')
  })
})

describe('policy tests', () => {
  test('pass and fail by outcome and rule', () => {
    const { document } = parsePolicyYaml(GOOD)
    expect(runPolicyTests(document).map(({ passed }) => passed)).toEqual([true, true])
    const wrong = parsePolicyYaml(GOOD.replace('rule: never-delete-repos', 'rule: other')).document
    expect(runPolicyTests(wrong)[0]).toEqual({
      name: 'deleting a repo is denied',
      passed: false,
      expected: 'deny by rule other',
      got: 'deny by rule never-delete-repos',
      rule: 'never-delete-repos',
    })
  })

  test('use the catalogue when it is given', () => {
    const text = `rules: [{ name: high, conditions: ['action.risk == "high"'], decision: deny }]
tests: [{ name: t, action: { type: x.y.z, resource: { provider: x } }, expect: { outcome: deny } }]`
    const { document } = parsePolicyYaml(text)
    const high = { connector: 'x', effect: 'write', risk: 'high' } as const
    expect(runPolicyTests(document)[0]?.passed).toBe(false)
    expect(runPolicyTests(document, () => high)[0]?.passed).toBe(true)
  })

  test('that take too long are refused before they run: a text of a tenant must not block a process', () => {
    const list = `[${Array.from({ length: 60 }, (_, i) => i).join(',')}]`
    const text = (condition: string, [rules = 0, tests = 0]: readonly number[], target = 'a/b') =>
      JSON.stringify({
        rules: Array.from({ length: rules }, (_, i) => ({
          ...{ name: `r${i}`, decision: 'deny' },
          conditions: [...Array.from({ length: 14 }, () => condition), 'false'],
        })),
        tests: Array.from({ length: tests }, (_, i) => ({
          ...{ name: `t${i}`, expect: { outcome: 'no_opinion' } },
          action: { type: 'codehost.repo.delete', resource: { provider: 'codehost', target } },
        })),
      })
    const run = (...given: Parameters<typeof text>) =>
      runPolicyTests(parsePolicyYaml(text(...given)).document)
    expect(() => run(`${list}.all(a, a >= 0)`, [40, 256])).toThrow(/256 tests .* take too long/)
    expect(() => run('resource.target.matches("(a|aa|b)*c")', [128, 50], 'a'.repeat(900))).toThrow('divide')
    expect(run('action.type != "x"', [32, 256])).toHaveLength(256)
  })

  test('state the request of a proxied action, headers and body included', () => {
    const text = `rules:
  - { name: other account, conditions: ['"stripe-account" in request.headers'], decision: deny }
  - { name: much, conditions: ['has(request.body) && request.body.amount > 100'], decision: require_approval }
tests:
  - { name: account, request: { headers: { Stripe-Account: acct_2 } }, action: { type: x, resource: { provider: x } }, expect: { outcome: deny } }
  - { name: body, request: { method: POST, body: { amount: 500 } }, action: { type: x, resource: { provider: x } }, expect: { outcome: requires_approval } }
  - { name: neither, request: { path: /v1/things }, action: { type: x, resource: { provider: x } }, expect: { outcome: no_opinion } }`
    expect(runPolicyTests(parsePolicyYaml(text).document).map(({ passed }) => passed)).toEqual([
      true,
      true,
      true,
    ])
  })

  test('take their time and agent from the test', () => {
    const text = `scope: { agents: [night-bot] }
rules: [{ name: night, conditions: ['now.getHours() < 6'], decision: deny }]
tests:
  - { name: at night, now: "2026-01-01T03:00:00Z", agent: { name: night-bot }, action: { type: x, resource: { provider: x } }, expect: { outcome: deny } }
  - { name: at noon, now: "2026-01-01T12:00:00Z", agent: { name: night-bot }, action: { type: x, resource: { provider: x } }, expect: { outcome: no_opinion } }
  - { name: another agent, now: "2026-01-01T03:00:00Z", action: { type: x, resource: { provider: x } }, expect: { outcome: no_opinion } }`
    expect(runPolicyTests(parsePolicyYaml(text).document).map(({ got }) => got)).toEqual([
      'deny by rule night',
      'no_opinion',
      'no_opinion',
    ])
  })
})
