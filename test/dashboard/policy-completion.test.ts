import { describe, expect, test } from 'vitest'
import { completionsAt } from '../../controlplane/dashboard/pages/policies/completion/completions.ts'
import { placeAt } from '../../controlplane/dashboard/pages/policies/completion/text-place.ts'
import type { NamedAction } from '../../core/wire/connectors.ts'

const ACTIONS: readonly NamedAction[] = [
  { type: 'codehost.pr.merge', effect: 'write', risk: 'medium', effects: ['merge'] },
  { type: 'codehost.pr.get', effect: 'read', risk: 'low' },
  { type: 'codehost.ref.get', effect: 'read', risk: 'low' },
]
const catalogue = {
  types: async () => ['codehost', 'payments'],
  actionsOf: async (type: string) => (type === 'codehost' ? ACTIONS : []),
}
/** Completes at `|`. Returns the text that is replaced and the labels. */
async function complete(text: string, isExplicit = false) {
  const before = text.slice(0, text.indexOf('|'))
  const found = await completionsAt(before, catalogue, isExplicit)
  return found === null
    ? null
    : { typed: before.slice(found.from), labels: found.options.map(({ label }) => label) }
}
const labels = async (text: string, isExplicit = false) => (await complete(text, isExplicit))?.labels ?? []

const RULE = 'rules:\n  - name: x\n'

describe('the place in a policy document', () => {
  test.each([
    ['sco|', 'key', ''],
    ['scope:\n  act|', 'key', 'scope'],
    ['scope:\n  actions: ["code|', 'value', 'scope.actions.*'],
    ['scope:\n  actions:\n    - code|', 'item', 'scope.actions.*'],
    [`${RULE}    con|`, 'item', 'rules.*'],
    ['rules:\n- name: x\n\n  con|', 'item', 'rules.*'],
    ['rules:\n- na|', 'item', 'rules.*'],
    [`${RULE}    decision: req|`, 'value', 'rules.*.decision'],
    [`${RULE}    conditions:\n      - 'action.ty|`, 'item', 'rules.*.conditions.*'],
    [`${RULE}    conditions:\n    - action.ty|`, 'item', 'rules.*.conditions.*'],
    [
      `${RULE}    conditions:\n      - >-\n        action.type == "a: b" &&\n        act|`,
      'value',
      'rules.*.conditions.*',
    ],
    [`${RULE}    conditions: ['a == "}"', "b|`, 'value', 'rules.*.conditions.*'],
    [`${RULE}    conditions: ['it''s', 'b|`, 'value', 'rules.*.conditions.*'],
    ["rules: [{ name: x, conditions: ['a'], dec|", 'key', 'rules.*'],
    ["rules: [{ name: x, conditions: ['a'], decision: d|", 'value', 'rules.*.decision'],
    [
      'tests:\n  - action:\n      resource: {\n        provider: co|',
      'value',
      'tests.*.action.resource.provider',
    ],
    [`scope:\n  actions: ["a"]\n${RULE}tes|`, 'key', ''],
  ])('%j is %s of %s', (text, kind, path) => {
    expect(placeAt(text.slice(0, text.indexOf('|')))).toMatchObject({ kind, path })
  })

  test.each(['# a com', 'scope: {} # a com', "rules:\n  - name: 'x' "])('%j has no completions', (text) => {
    expect(placeAt(text)).toBeNull()
  })
})

describe('completions of the policy editor', () => {
  test('are the fields of the mapping with their descriptions', async () => {
    expect(await labels('|', true)).toEqual(['description', 'scope', 'grants', 'rules', 'tests'])
    expect(await labels(`${RULE}    d|`)).toContain('decision')
    expect(await labels('tests:\n  - expect: { o|')).toEqual(['outcome', 'rule'])
    expect(await labels('|')).toEqual([])
  })

  test('are the possible values of a field', async () => {
    expect(await labels(`${RULE}    decision: r|`)).toEqual(['allow', 'deny', 'require_approval'])
    expect(await labels('tests:\n  - action:\n      resource: { provider: c|')).toEqual([
      'codehost',
      'payments',
    ])
  })

  test('are connector types, then their actions and the patterns of their groups', async () => {
    expect(await complete('scope:\n  actions: ["co|')).toEqual({
      typed: 'co',
      labels: ['codehost.', 'payments.'],
    })
    expect(await labels('scope:\n  actions: [codehost.p|')).toEqual([
      ...['codehost.*', 'codehost.pr.*'],
      ...ACTIONS.map(({ type }) => type),
    ])
    expect(await labels('tests:\n  - action: { type: codehost.|')).toEqual(ACTIONS.map(({ type }) => type))
  })

  const inCondition = (text: string) => `${RULE}    conditions:\n      - '${text}`
  test.each([
    ['act|', 'act', 'action.type'],
    ['action.|', '', 'effect'],
    ['action.type.st|', 'st', 'startsWith('],
    ['request.segments.|', '', 'exists('],
    ['parameters.title.|', '', 'contains('],
    ['!has(par|', 'par', 'parameters.'],
    ['risk.score > 0.5 && si|', 'si', 'size('],
    ['action.effect == |', '', '"write"'],
    ['action.effect == "w|', 'w', 'write'],
    ['action.risk in ["low", "|', '', 'high'],
    ['action.type == "codehost.|', 'codehost.', 'codehost.pr.merge'],
    ['action.type.startsWith("co|', 'co', 'codehost.'],
    ['resource.provider != "|', '', 'payments'],
  ])('of the condition %s are for %j, with %s', async (text, typed, label) => {
    const found = await complete(inCondition(text))
    expect(found?.typed).toBe(typed)
    expect(found?.labels).toContain(label)
  })

  test('of a list have no methods of texts, and those of a text none of lists', async () => {
    expect(await labels(inCondition('request.segments.|'))).not.toContain('startsWith(')
    expect(await labels(inCondition('action.type.|'))).not.toContain('exists(')
  })

  test('have the quotes of CEL that the value of YAML leaves free', async () => {
    expect(await labels(`${RULE}    conditions: ["action.effect == |`)).toContain("'write'")
  })

  test.each(['resource.target == "ac|', 'action.type == "a" |', 'action.type == "a"|'])(
    'of the condition %s are none',
    async (text) => {
      expect(await complete(inCondition(text))).toBeNull()
    },
  )
})
