import { describe, expect, test } from 'vitest'
import { createCatalogue } from '../../../../core/connectors/catalogue.ts'
import { decide } from '../../../../core/decision/decide.ts'
import { parsePolicyYaml } from '../../../../core/decision/policies/policy-document.ts'
import { type ExceptionFacts, withException } from '../../../../core/decision/policies/policy-exception.ts'
import { inputOf, rulesOf } from '../fixtures.ts'

const { knownAction } = createCatalogue()
const FACTS: ExceptionFacts = {
  approvalId: 'apv_1',
  agent: 'bot',
  actionType: 'codehost.pr.merge',
  connector: 'codehost',
  target: 'acme/site',
  parameters: { number: 7 },
  request: { method: 'PUT', host: 'api.github.com', path: '/repos/acme/site/pulls/7/merge?a=b' },
}

const TEXT = `# Merges of the site.
scope:
  actions: ["codehost.*"]
rules:
  - name: frozen
    conditions: ['resource.target == "acme/frozen"']
    decision: deny
  # Merges need somebody.
  - name: merges
    conditions:
      - 'action.type == "codehost.pr.merge"' # only these
    decision: require_approval
  - name: rest
    decision: deny
tests:
  - name: a merge needs somebody
    action: { type: codehost.pr.merge, resource: { provider: codehost, target: acme/other } }
    expect: { outcome: requires_approval, rule: merges }
`

const made = (text: string, changes: Partial<ExceptionFacts> = {}, target: 'same' | 'any' = 'same') =>
  withException(text, { ...FACTS, ...changes }, { rule: 'merges', target }, knownAction)

function textOf(text: string, changes: Partial<ExceptionFacts> = {}, target: 'same' | 'any' = 'same') {
  const result = made(text, changes, target)
  if (result.obstacle !== null) throw new Error(result.obstacle)
  return result
}

function verdictOf(yaml: string, target: string | undefined, agent = 'bot', type = 'codehost.pr.merge') {
  const connector = type.split('.')[0] ?? ''
  const permissions = [
    { id: 'perm', connector_type: connector, action_pattern: `${connector}.*`, decision: 'allow' as const },
  ]
  const input = inputOf({ type }, { agent: { name: agent } })
  const resource = { ...input.action.resource, ...(target === undefined ? {} : { target }) }
  return decide(
    rulesOf({ level: 'full_enforce', default: 'deny', permissions, policies: [{ id: 'p', yaml }] }),
    {
      ...input,
      action: { ...input.action, resource },
    },
  ).verdict
}

describe('an exception in a policy', () => {
  test('stands before the rule that holds, with its conditions, a passing test and all comments', () => {
    const { text, rule, isTested } = textOf(TEXT)
    expect({ rule, isTested }).toEqual({ rule: 'merges-exception', isTested: true })
    for (const comment of ['# Merges of the site.', '# Merges need somebody.', '# only these'])
      expect(text).toContain(comment)
    expect(text).toContain('# Merges need somebody.\n  - name: merges\n')
    const { rules, tests } = parsePolicyYaml(text).document
    expect(rules.map(({ name }) => name)).toEqual(['frozen', 'merges-exception', 'merges', 'rest'])
    expect(rules[1]).toMatchObject({
      decision: 'allow',
      reason: 'Exception from approval apv_1',
      conditions: [
        'agent.name == "bot"',
        'action.type == "codehost.pr.merge"',
        'resource.target == "acme/site"',
        'action.type == "codehost.pr.merge"',
      ],
    })
    expect(tests[0]).toMatchObject({ expect: { outcome: 'allow', rule: 'merges-exception' } })
    const added = text.split('\n').filter((line) => !TEXT.split('\n').includes(line))
    expect(text.split('\n').filter((line) => !added.includes(line))).toEqual(
      expect.arrayContaining(TEXT.split('\n')),
    )
    expect(text.split('\n')).toHaveLength(TEXT.split('\n').length + 8 + 11)
  })

  test('covers this agent, action and target only, and no deny', () => {
    const { text } = textOf(TEXT)
    expect(verdictOf(text, 'acme/site')).toBe('allow')
    expect(verdictOf(text, 'Acme/Site')).toBe('allow')
    expect(verdictOf(text, 'acme/other')).toBe('hold')
    expect(verdictOf(text, undefined)).toBe(verdictOf(TEXT, undefined))
    expect(verdictOf(text, 'acme/site', 'other')).toBe('hold')
    expect(verdictOf(text, 'acme/site', 'bot', 'codehost.pr.close')).toBe('deny')
    const { text: any } = textOf(TEXT, {}, 'any')
    expect(verdictOf(any, 'acme/other')).toBe('allow')
    expect(verdictOf(any, 'acme/frozen')).toBe('deny')
  })

  test('changes no decision but that of requests which the rule holds', () => {
    const { text } = textOf(TEXT)
    for (const target of ['acme/site', 'acme/frozen', 'acme/other', undefined])
      for (const agent of ['bot', 'other'])
        for (const type of ['codehost.pr.merge', 'codehost.pr.close', 'codehost.branch.delete']) {
          const before = verdictOf(TEXT, target, agent, type)
          const isExcepted = target === 'acme/site' && agent === 'bot' && type === 'codehost.pr.merge'
          expect(verdictOf(text, target, agent, type)).toBe(isExcepted ? 'allow' : before)
        }
  })

  test('is added a second time under another name', () => {
    const { text, rule } = textOf(textOf(TEXT).text, { target: 'acme/other' })
    expect(rule).toBe('merges-exception-2')
    expect(verdictOf(text, 'acme/other')).toBe('allow')
  })

  test.each([
    ['a text in flow style', '{ rules: [{ name: merges, decision: require_approval }] }'],
    ['a text without tests', 'rules:\n- name: merges\n  decision: require_approval\n'],
    ['JSON', '{"rules":[{"name":"merges","decision":"require_approval"}],"tests":[]}'],
  ])('can be added to %s', (_, text) => {
    expect(verdictOf(textOf(text).text, 'acme/site')).toBe('allow')
    expect(verdictOf(textOf(text).text, 'acme/other')).toBe('hold')
  })

  test.each([
    ['quotes and a line break', 'a"b\\c\nd: - #'],
    ['a reversed line', 'a\u202eb'],
    ['a character beyond the first plane', '\u{1f600}\u{e0041}'],
    ['an expression', '" || true || "'],
    ['a percent escape', 'acme%2Fsite'],
  ])('compares a target with %s as text', (_, target) => {
    const { text } = textOf('rules: [{ name: merges, decision: require_approval }]', {
      ...{ target, connector: 'generic', actionType: 'generic.get', request: null },
    })
    expect(text).not.toMatch(/[\u202e\u{e0041}]/u)
    const typed = (given: string) => verdictOf(text, given, 'bot', 'generic.get')
    expect(typed('acme/none')).toBe('hold')
    const [condition] = parsePolicyYaml(text).document.rules[0]?.conditions.slice(2) ?? []
    expect(condition).toMatch(/^resource\.(raw_)?target == "/)
    expect(typed(target)).toBe('allow')
  })

  test('has a test with the request where the rule reads it, and none where a test cannot state the facts', () => {
    const withCondition = (condition: string) =>
      `rules: [{ name: merges, conditions: ['${condition}'], decision: require_approval }]`
    const read = textOf(withCondition('request.path.startsWith("/repos/")'))
    expect(read.isTested).toBe(true)
    expect(parsePolicyYaml(read.text).document.tests[0]?.request).toMatchObject({
      path: '/repos/acme/site/pulls/7/merge',
    })
    expect(textOf(withCondition('parameters.number == 7')).isTested).toBe(true)
    expect(textOf(withCondition('resource.environment == "staging"')).isTested).toBe(false)
  })

  test.each<[string, string, Partial<ExceptionFacts>, RegExp]>([
    ['a rule that is gone', 'rules: [{ name: other, decision: require_approval }]', {}, /no rule "merges"/],
    ['a rule that denies', 'rules: [{ name: merges, decision: deny }]', {}, /no rule "merges"/],
    ['a text that is no policy', 'rules: 3', {}, /is invalid: /],
    ['a target that is shown with a replacement', TEXT, { target: 'a\u2400' }, /cannot compare/],
    ['a target that is too long', TEXT, { target: 'x'.repeat(2_000) }, /is invalid: /],
  ])('is impossible for %s, with the reason', (_, text, changes, reason) => {
    expect(made(text, changes).obstacle).toMatch(reason)
  })
})
