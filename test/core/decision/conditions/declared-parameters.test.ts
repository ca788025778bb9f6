import { expect, test } from 'vitest'
import { createCatalogue } from '../../../../core/connectors/catalogue.ts'
import { documentProblems, parsePolicyYaml } from '../../../../core/decision/policies/policy-document.ts'

function policy(actions: readonly string[], condition: string): string {
  return JSON.stringify({
    scope: { actions },
    rules: [{ name: 'r', conditions: [condition], decision: 'deny' }],
  })
}

function outcomeOf(actions: readonly string[], condition: string): { error?: string; warnings: string } {
  try {
    return { warnings: parsePolicyYaml(policy(actions, condition)).warnings.join(' ') }
  } catch (error) {
    return { error: (error as Error).message, warnings: '' }
  }
}

test.each([
  [['payments.charge.refund'], 'parameters.amout > 100', 'did you mean parameters.amount?'],
  [['payments.charge.refund'], 'has(parameters.amout)', 'did you mean parameters.amount?'],
  [['payments.charge.refund'], '"amout" in parameters', 'did you mean parameters.amount?'],
  [['payments.charge.refund'], 'parameters["amout"] > 100', 'did you mean parameters.amount?'],
  [['llm_a.embedding.create'], 'has(parameters.no_such_member)', 'request.body.no_such_member'],
  [['codehost.pr.*'], 'parameters.tilte == "x"', 'did you mean parameters.title?'],
])('in a scope of %j the condition %s does not compile, because no row declares the name', (...given) => {
  const [actions, condition, hint] = given
  expect(outcomeOf(actions, condition).error).toContain(hint)
})

test.each([[['*']], [['payments.*']], [['payments.charge.refund', 'acme.deploy']]])(
  'in a scope of %j, which covers actions without rows, it is a warning',
  (actions) => {
    const { error, warnings } = outcomeOf(actions, 'parameters.amout_of > 100')
    expect(error).toBeUndefined()
    expect(warnings).toContain('parameters.amout_of')
  },
)

test.each([
  [['llm_a.provider_tool.mcp'], 'parameters.server_url == "x"'],
  [['llm_b.provider_tool.*'], 'parameters.url == "x"'],
  [['codehost.tag.create'], 'parameters.tag_name == "v1"'],
  [['codehost.git.force_push'], 'parameters.forced == true'],
])(
  'in a scope of %j, whose actions stand beside another one, the undeclared name in %s is an error',
  (actions, condition) => {
    expect(outcomeOf(actions, condition).error).toContain('parameters.')
  },
)

test.each([
  [['llm_a.provider_tool.mcp'], 'parameters.field == "tools"'],
  [
    ['codehost.tag.create', 'codehost.ref.create'],
    'parameters.ref == "refs/tags/v1" && parameters.sha == "0"',
  ],
  [['codehost.git.force_push'], 'parameters.force == true || parameters.before == "0"'],
  [['acme.deploy'], 'parameters.anything == 1'],
  [['generic.post'], 'parameters.anything == 1'],
  [['mcp.tools.*'], 'parameters.arguments.path == "x"'],
  [['codehost.pr.merge'], 'parameters.number == 7 && parameters.owner == "acme"'],
  [['codehost.branch.delete'], 'parameters.ref == "refs/heads/main"'],
  [['codehost.git.push'], 'parameters.before == "0"'],
  [['chat.message.post'], 'parameters.channel_id == "C1"'],
  [['payments.charge.refund'], 'parameters["amount[0]"] == "a" || parameters.exists(p, p == "x")'],
])('in a scope of %j the condition %s has neither', (actions, condition) => {
  const { error, warnings } = outcomeOf(actions, condition)
  expect([error, warnings.includes('parameters.')]).toEqual([undefined, false])
})

test('the name of a field of GraphQL is a warning at most, because no table lists those', () => {
  const { error, warnings } = outcomeOf(['codehost.pr.merge'], 'parameters.pullRequestId == "PR_1"')
  expect([error, warnings.includes('parameters.pullRequestId')]).toEqual([undefined, true])
})

test('every name that a row declares is known in the scope of its action', () => {
  const { connectors, rows } = createCatalogue()
  const all = connectors.flatMap((type) => [...rows(type)])
  const wrong = all.flatMap(({ type, parameters = [] }) => {
    const conditions = parameters.slice(0, 12).map((name) => `has(parameters.${name.replace(/\W.*/, '')})`)
    if (conditions.length === 0) return []
    const document = parsePolicyYaml(policy([type], 'true')).document
    const rules = conditions.map((condition) => ({
      ...{ ...document.rules[0], name: 'r', decision: 'deny' as const },
      ...{ approver_groups: [], conditions: [condition] },
    }))
    return documentProblems({ ...document, rules })
  })
  expect(wrong).toEqual([])
})
