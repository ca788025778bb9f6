import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { decide } from '../../../core/decision/decide.ts'
import type { Decision, DecisionInput } from '../../../core/decision/decision.ts'
import { groupNames } from '../../../core/decision/policies/required-groups.ts'
import { type ActionText, inputOf, type RulesText, rulesOf } from './fixtures.ts'

type Wanted = Partial<
  Pick<Decision, 'verdict' | 'would' | 'source' | 'permission' | 'policies' | 'reason'>
> & {
  rules?: string[]
  groups?: string[]
  reasonContains?: string
}
type Case = { name: string; action: ActionText; want: Wanted } & Partial<DecisionInput>
type Corpus = { description: string; rules: RulesText; cases: Case[] }

const folder = new URL('../../golden/decisions/', import.meta.url)
const files = readdirSync(folder).filter((name) => name.endsWith('.json'))

test('the corpus is not empty', () => {
  expect(files.length).toBeGreaterThanOrEqual(5)
})

describe.each(files)('%s', (file) => {
  const corpus = JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Corpus
  const rules = rulesOf(corpus.rules)

  test.each(corpus.cases)(`${corpus.description}: $name`, ({ action, want, ...rest }) => {
    const decision = decide(rules, inputOf(action, rest))
    const { rules: ruleNames, groups, reasonContains, ...fields } = want
    expect(decision).toMatchObject(fields)
    if (want.would === undefined) expect(decision.would).toBe(want.verdict ?? decision.verdict)
    if (ruleNames !== undefined) expect(decision.rules.map(({ rule }) => rule)).toEqual(ruleNames)
    if (groups !== undefined) expect(groupNames(decision.requiredGroups)).toEqual(groups)
    if (reasonContains !== undefined) expect(decision.reason).toContain(reasonContains)
  })
})
