import { describe, expect, test } from 'vitest'
import { PolicyDocument } from '../../../../core/crd/policy/policy-document.ts'
import { PolicySpec } from '../../../../core/crd/policy/policy-spec.ts'
import {
  inSpellingOfDocument,
  inSpellingOfSpec,
  modeOfSpec,
  policyDocumentOf,
  policyRecordOf,
} from '../../../../core/crd/policy/policy-spelling.ts'
import { knownFields } from '../../../../core/schema/known-fields.ts'

const SPEC = {
  description: 'd',
  scope: { actions: ['codehost.*'] },
  rules: [{ name: 'r', decision: 'require_approval', approverGroups: ['a'], distinct: true }],
  tests: [
    {
      name: 't',
      action: {
        ...{ type: 'a.b', resource: { provider: 'a' }, riskHints: { irreversible: true } },
        parameters: { approverGroups: ['kept'], risk_hints: ['kept'] },
      },
      expect: { outcome: 'deny' },
    },
  ],
}

describe('a policy document and the spec of a Policy', () => {
  test('have the same content, in two spellings', () => {
    const document = policyDocumentOf(PolicySpec.parse(SPEC))
    expect(PolicyDocument.parse(document)).toEqual(document)
    expect(document.rules[0]?.approver_groups).toEqual(['a'])
    expect(document.tests[0]?.action.risk_hints).toEqual({ irreversible: true })
    expect(document.tests[0]?.action.parameters).toEqual(SPEC.tests[0]?.action.parameters)
    expect(PolicySpec.parse(inSpellingOfSpec(document))).toEqual(PolicySpec.parse(SPEC))
  })

  test('are converted both ways, valid or not', () => {
    for (const value of [
      SPEC,
      { rules: [1, null, { approverGroups: 1 }], tests: 'x' },
      { rules: {} },
      null,
      'x',
      [],
    ])
      expect(inSpellingOfSpec(inSpellingOfDocument(value))).toEqual(value)
    expect(inSpellingOfDocument(SPEC)).toEqual(
      expect.objectContaining({ rules: [expect.objectContaining({ approver_groups: ['a'] })] }),
    )
    expect(inSpellingOfSpec(SPEC)).toEqual(SPEC)
  })

  test('differ in no other field: the spec is camelCase, and what it shares has one name', () => {
    const fields = (schema: typeof PolicySpec | typeof PolicyDocument) =>
      [['rules', 0], ['tests', 0], ['tests', 0, 'action'], ['tests', 0, 'request'], ['scope']].map((path) =>
        knownFields(schema, path),
      )
    const camel = (name: string) => name.replace(/_(.)/g, (_all, letter: string) => letter.toUpperCase())
    const sorted = (names: readonly string[]) => names.map(camel).toSorted()
    expect(fields(PolicyDocument).map(sorted)).toEqual(fields(PolicySpec).map((names) => names.toSorted()))
  })

  test('a disabled Policy is a disabled record, and a record keeps its mode while it is enabled', () => {
    const record = (mode: PolicySpec['mode']) => policyRecordOf({ mode, priority: 1, tags: [] })
    expect(record('disabled')).toEqual({ enabled: false, mode: 'enforce', priority: 1, tags: [] })
    expect(record('monitor')).toEqual({ enabled: true, mode: 'monitor', priority: 1, tags: [] })
    expect((['enforce', 'monitor', 'disabled'] as const).map((mode) => modeOfSpec(record(mode)))).toEqual([
      'enforce',
      'monitor',
      'disabled',
    ])
  })
})
