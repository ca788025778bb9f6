import { describe, expect, test } from 'vitest'
import { DEFAULT_POLICIES } from '../../../../core/decision/policies/default-policies.ts'
import { parsePolicyYaml } from '../../../../core/decision/policies/policy-document.ts'
import { emptyGroupWarnings, unknownActions } from '../../../../core/decision/policies/policy-warnings.ts'

function policyOf(condition: string, actions = ['codehost.*']): string {
  return `scope: { actions: ${JSON.stringify(actions)} }
rules:
  - name: r
    conditions: [${JSON.stringify(condition)}]
    decision: require_approval
    approver_groups: [releas-managers]
`
}

function errorOf(condition: string): string {
  try {
    parsePolicyYaml(policyOf(condition))
  } catch (error) {
    return (error as Error).message
  }
  return 'compiled'
}

test('a test of an unknown action is a warning with the nearest name', () => {
  const withTest = (type: string) =>
    `${policyOf('action.effect == "write"')}tests:\n  - name: t\n    action: { type: ${type}, resource: { provider: codehost } }\n    expect: { outcome: no_opinion }\n`
  const warningsOf = (type: string) => parsePolicyYaml(withTest(type)).warnings
  expect(warningsOf('codehost.pr.mrege')).toEqual([
    'No known action matches "codehost.pr.mrege". Did you mean codehost.pr.merge?',
  ])
  for (const type of ['codehost.pr.merge', 'acme.deploy', 'mcp.tools.x', 'generic.order.ship'])
    expect(warningsOf(type)).toEqual([])
})

test.each([
  ['codehost.PR.merge', 'allow', 'Did you mean codehost.pr.merge?'],
  ['Codehost.*', 'allow', 'Did you mean codehost.*?'],
  ['codehost.unmap*', 'allow', 'allows nothing'],
  ['codehost.PR.merge', 'deny', null],
  ['codehost.PR.merge', 'require_approval', null],
  ['codehost.pr.*', 'allow', null],
  ['codehost.unmapped.post', 'allow', null],
  ['mcp.tools.Create_*', 'allow', null],
  ['acme.Deploy', 'allow', null],
])('a scope of %s with a rule that decides %s', (pattern, decision, warning) => {
  const text = `scope: { actions: [${JSON.stringify(pattern)}] }\nrules: [{ name: r, decision: ${decision} }]\n`
  const wanted = warning === null ? [] : [expect.stringContaining(warning)]
  expect(parsePolicyYaml(text).warnings).toEqual(wanted)
})

describe('an unknown name in a condition', () => {
  test.each([
    ['actoin.type == "a"', 'Unknown variable: actoin (did you mean action?)'],
    ['action.tpye == "a"', 'action has no field "tpye" (did you mean type?)'],
    ['action["tpye"] == "a"', 'did you mean type?'],
    ['has(resource.traget)', 'did you mean target?'],
    ['resource.organization == "a"', 'resource has no field "organization" (fields: provider'],
    ['agent.nmae == "a"', 'did you mean name?'],
    ['gateway.enviroment == "a"', 'did you mean environment?'],
    ['connector.tpe == "a"', 'did you mean type?'],
    ['request.methd == "a"', 'did you mean method?'],
    ['risk.scor > 0.5', 'did you mean score?'],
    ['action.type.startWith("a")', 'Unknown function: startWith() (did you mean startsWith?)'],
    ['sizee(action.type) > 1', 'Unknown function: sizee()'],
    ['canonical_name(action.type) == "a"', 'canonical_name() is not available in policies'],
    ['["a"].exists(x, x == action.tpye)', 'did you mean type?'],
  ])('%s does not compile, with the nearest name', (condition, wanted) => {
    expect(errorOf(condition)).toContain(wanted)
  })

  test.each([
    ['action.effect == "wirte"', 'action.effect is never "wirte" (did you mean write?)'],
    ['"wirte" != action.effect', 'did you mean write?'],
    ['action.effect in ["read", "wrte"]', 'did you mean write?'],
    ['risk.level == "severe"', 'risk.level is never "severe" (values: low, medium, high)'],
    ['agent.status != "suspnded"', 'did you mean suspended?'],
    ['action["risk"] == "hihg"', 'did you mean high?'],
    ['risk.score > "0.5"', 'risk.score is a number and is never equal to a string'],
    ['risk.score == true', 'risk.score is a number and is never equal to a bool'],
    ['action.unmapped == "true"', 'action.unmapped is a bool and is never equal to a string'],
    ['hints.irreversible == 1', 'hints.irreversible is a bool and is never equal to a number'],
    ['action.type == 5', 'action.type is a string and is never equal to a number'],
    ['resource.target in ["a", 1]', 'resource.target is a string and is never equal to a number'],
    ['action.type.name == "x"', 'action.type is a string and has no fields'],
    ['has(agent.name.first)', 'agent.name is a string and has no fields'],
    ['"merge" in action.type', 'action.type is a string and not a list; use contains()'],
    ['["a"].exists(x, action.effect == "writ")', 'did you mean write?'],
    ['true ? action.effect == "writ" : false', 'did you mean write?'],
  ])('%s does not compile: the fact is never that', (condition, wanted) => {
    expect(errorOf(condition)).toContain(wanted)
  })

  test.each([
    'action.effect != "read" && risk.level in ["medium", "high"]',
    'risk.score >= 1 || risk.score > 0.5',
    '!action.unmapped && action.unmapped == false',
    '"production +0.1" in risk.factors',
    'risk.factors.exists(f, f.startsWith("x"))',
    'context.list.exists(action, action.effect == 5)',
    'action.effect == parameters.effect',
    'resource.target.startsWith("a") && size(action.type) > 3',
    'parameters.anything == 1',
    'context.anything == 1',
    'request.query.anything == "1"',
    'has(request.method)',
    'context.list.exists(action, action.tpye == "x")',
    'now > timestamp("2026-01-01T00:00:00Z")',
    'type(parameters.x) == string',
  ])('%s compiles: it is open, or known', (condition) => {
    expect(errorOf(condition)).toBe('compiled')
  })

  test('hints and actions in conditions are warnings', () => {
    const { warnings } = parsePolicyYaml(
      policyOf(
        'hints.ireversible || action.type == "codehost.pr.mrege" || action.type in ["codehost.pr.merge", "codehots.pr.get"]',
      ),
    )
    expect(warnings.join('\n')).toContain('hints.ireversible is not a known hint')
    expect(warnings.join('\n')).toContain('Did you mean hints.irreversible?')
    expect(warnings.join('\n')).toContain('"codehost.pr.mrege". Did you mean codehost.pr.merge?')
    expect(warnings.join('\n')).toContain('"codehots.pr.get". Did you mean codehost.pr.get?')
    expect(warnings).toHaveLength(3)
  })
})

describe('a comparison that can never hold', () => {
  test.each([
    ['action.type == "codehost.PR.merge"', 'Did you mean codehost.pr.merge?'],
    ['action.type in ["codehost.pr.Merge"]', 'Did you mean codehost.pr.merge?'],
    ['action.type == "codehost.pr.*"', 'Write action.type.startsWith("codehost.pr.").'],
    ['action.type.startsWith("codehots.")', 'Did you mean codehost.*?'],
    ['action.type.startsWith("codehost.PR.")', 'Did you mean codehost.pr.?'],
    ['action.type.startsWith("codehost.pull.")', 'No known action matches "codehost.pull.*".'],
    ['connector.type == "codehots"', 'No connector has the type "codehots". Did you mean codehost?'],
    ['connector.type in ["chat", "Chat"]', 'Did you mean chat?'],
    ['!(connector.type != "github")', 'No connector has the type "github". Types: codehost, '],
  ])('%s is a warning', (condition, wanted) => {
    const { warnings } = parsePolicyYaml(policyOf(condition))
    expect(warnings).toEqual([expect.stringContaining(wanted)])
  })

  test.each([
    'action.type == "codehost.pr.merge"',
    'action.type == "mcp.tools.Delete_Repo"',
    'action.type == "acme.deploy"',
    'action.type.startsWith("codehost.pr.")',
    'action.type.startsWith("mcp.tools.Create")',
    'action.type.startsWith("codehost.unmapped.")',
    'action.type.startsWith("")',
    'connector.type in ["chat", "generic"]',
    'connector.name == "codehots"',
  ])('%s is not', (condition) => {
    expect(parsePolicyYaml(policyOf(condition)).warnings).toEqual([])
  })
})

describe('a rule that tightens by names as they were sent', () => {
  const warningsOf = (scope: readonly string[], condition: string, decision = 'deny') =>
    parsePolicyYaml(
      JSON.stringify({
        scope: { actions: scope },
        rules: [{ name: 'r', conditions: [condition], decision }],
      }),
    ).warnings

  test.each([
    'request.path.startsWith("/repos/acme/")',
    'request.segments[1] == "acme"',
    'resource.raw_target == "a/b"',
  ])('%s is a warning on the code host, where another spelling passes it', (condition) => {
    expect(warningsOf(['codehost.*'], condition)).toEqual([
      expect.stringContaining(
        'codehost compares names without case, so the rule does not match other spellings',
      ),
    ])
    expect(warningsOf(['codehost.*'], condition, 'allow')).toEqual([])
    expect(warningsOf(['generic.*'], condition)).toEqual([])
    expect(warningsOf([], condition)).toEqual([])
  })
})

describe('a pattern that matches no known action', () => {
  test.each([
    ['codehost.pr.mrege', 'Did you mean codehost.pr.merge?'],
    ['codehots.*', 'Did you mean codehost.*?'],
    ['codehost.pul.*', 'No known action matches "codehost.pul.*".'],
    ['paymnets.charge.create', 'Did you mean payments.charge.create?'],
    ['mcp.rpc.stream_opn', 'Did you mean mcp.rpc.stream_open?'],
    ['generic.psot', 'Did you mean generic.post?'],
  ])('%s is a warning', (pattern, wanted) => {
    expect(unknownActions([pattern]).join()).toContain(wanted)
    expect(parsePolicyYaml(policyOf('true', [pattern])).warnings.join()).toContain(wanted)
  })

  test.each([
    '*',
    'code*',
    'codehost.*',
    'CODEHOST.PR.MERGE',
    'codehost.pr.*',
    'codehost.unmapped.post',
    'codehost.unmapped.*',
    'codehost.git.force_push',
    'generic.tunnel.open',
    'generic.orders.create_and_ship',
    'mcp.tools.anything',
    'mcp.tools.create_*',
    'mcp.*',
    'acme.deploy',
    'acme.*',
  ])('%s is not', (pattern) => {
    expect(unknownActions([pattern])).toEqual([])
  })

  test('the policies of a new organisation have none', () => {
    for (const { policyYaml } of DEFAULT_POLICIES) expect(parsePolicyYaml(policyYaml).warnings).toEqual([])
  })
})

test('a group without members is a warning with the nearest one', () => {
  const { document } = parsePolicyYaml(policyOf('true'))
  expect(emptyGroupWarnings(document, new Set(['release-managers', 'ops'])).join()).toContain(
    'Did you mean "release-managers"?',
  )
  expect(emptyGroupWarnings(document, new Set(['releas-managers']))).toEqual([])
})

test.each([
  ['deny', 'has(resource.target) && resource.target == "acme/prod"', true],
  ['require_approval', 'has(resource.account) && resource.account == "acme"', true],
  ['deny', 'resource.target == "acme/prod"', false],
  ['deny', 'has(parameters.title) && resource.target == "acme/prod"', false],
  ['allow', 'has(resource.target) && resource.target == "acme/prod"', false],
])(
  'a rule with the decision %s and the condition %s: warning about has() %s',
  (decision, condition, isWarned) => {
    const rules = [{ name: 'r', conditions: [condition], decision }]
    const { warnings } = parsePolicyYaml(JSON.stringify({ scope: { actions: ['codehost.*'] }, rules }))
    expect(warnings.some((text) => text.includes('has(resource.'))).toBe(isWarned)
  },
)
