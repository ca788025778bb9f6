import { expect, test } from 'vitest'
import { scoreRisk } from '../../../../core/action/risk.ts'
import { compileCondition } from '../../../../core/decision/conditions/condition.ts'
import { placedInputs } from '../../../../core/decision/facts/environment.ts'
import { createFacts } from '../../../../core/decision/facts/facts.ts'
import { FACT_TEXTS, NOW_TEXT } from '../../../../scripts/conditions/condition-facts.ts'
import { FUNCTION_TEXTS, OPERATOR_TEXTS } from '../../../../scripts/conditions/condition-functions.ts'
import { conditionsPage } from '../../../../scripts/conditions/conditions-page.ts'
import { inputOf } from '../fixtures.ts'

const given = inputOf(
  {
    type: 'codehost.pr.merge',
    effect: 'write',
    risk: 'medium',
    parameters: { number: 7, labels: ['bug', 'docs'] },
  },
  {
    agent: { id: 'agent_1', name: 'release-bot', environment: 'Staging', runtime: 'test', status: 'active' },
    gateway: { name: 'default' },
    connector: { name: 'codehost', type: 'codehost', environment: 'Staging' },
    request: {
      method: 'PUT',
      host: 'api.github.com',
      path: '/repos/Acme/Site/pulls/7/merge',
      raw_path: '/repos/Acme/Site/pulls/7/merge',
      segments: ['repos', 'Acme', 'Site', 'pulls', '7', 'merge'],
      query: { draft: 'true' },
      headers: { 'x-team': 'web' },
      body: { merge_method: 'squash' },
    },
    context: { reason: 'release 1.2' },
    nowMs: Date.UTC(2026, 0, 1, 0, 30),
  },
)
const resource = { provider: 'codehost', account: 'acme', target: 'Acme/Site' }
const input = { ...given, action: { ...given.action, resource } }

const examples = [
  ...Object.values(FACT_TEXTS).flatMap((fields) => Object.values(fields)),
  ...[NOW_TEXT, ...Object.values(FUNCTION_TEXTS), ...OPERATOR_TEXTS],
].map(({ example }) => example)

test.each(examples)('the example %s of docs/conditions.md is true', (text) => {
  const [placed] = placedInputs(input)
  if (placed === undefined) throw new Error('no input')
  const facts = createFacts(placed, scoreRisk(input.action))
  expect(compileCondition(text, { rule: 'r', index: 0 }).evaluate(facts)).toBe(true)
})

test('the page has a row for every fact and function', () => {
  const page = conditionsPage()
  for (const name of ['request.body', 'now', 'matches', 'exists_one'])
    expect(page).toContain(`| \`${name}\` |`)
  for (const name of ['canonical_name', 'split', 'orValue']) expect(page).not.toContain(`| \`${name}\` |`)
})
