import { describe, expect, test } from 'vitest'
import { ActionSpec, actionFromSpec, canonicalJson } from '../../../core/action/spec.ts'
import fc from '../../support/fast-check.ts'

function pathsOf(value: unknown): string[] {
  const result = ActionSpec.safeParse(value)
  return result.success ? [] : result.error.issues.map(({ path }) => path.join('.'))
}

describe('action specs', () => {
  test('errors name the exact field', () => {
    expect(pathsOf({ resource: { provider: 'codehost' } })).toEqual(['type'])
    expect(pathsOf({ type: 'a.b.c', resource: {} })).toEqual(['resource.provider'])
    expect(
      pathsOf({ type: 'a.b.c', resource: { provider: 'x' }, risk_hints: { irreversible: 'yes' } }),
    ).toEqual(['risk_hints.irreversible'])
  })

  test('any type string is accepted, with or without a connector', () => {
    expect(pathsOf({ type: 'anything goes', resource: { provider: 'x' } })).toEqual([])
  })

  test('organization and repository say the same as target', () => {
    const spec = ActionSpec.parse({
      type: 'codehost.pr.merge',
      resource: { provider: 'codehost', organization: 'acme', repository: 'site' },
    })
    expect(actionFromSpec(spec, null).resource).toEqual({ provider: 'codehost', target: 'acme/site' })
  })

  test('a name that no catalogue row describes is a write of medium risk', () => {
    const spec = ActionSpec.parse({ type: 'custom.thing.do', resource: { provider: 'custom' } })
    expect(actionFromSpec(spec, null)).toMatchObject({ connector: 'custom', effect: 'write', risk: 'medium' })
  })

  test('an agent cannot remove a hint of the catalogue', () => {
    const spec = ActionSpec.parse({
      type: 'codehost.repo.delete',
      resource: { provider: 'codehost' },
      risk_hints: { irreversible: false, own: true },
    })
    const known = {
      connector: 'codehost',
      effect: 'write',
      risk: 'high',
      hints: { irreversible: true },
    } as const
    expect(actionFromSpec(spec, known).riskHints).toEqual({ irreversible: true, own: true })
  })
})

describe('canonical JSON', () => {
  test('is the text of RFC 8785, appendix B style', () => {
    const value = {
      numbers: [Number('333333333.33333329'), 1e30, 4.5, 2e-3, 0.000000000000000000000000001, -0],
      string: '€$\u000f\nA\'B"\\"/',
      literals: [null, true, false],
    }
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\"/"}',
    )
  })

  test('sorts keys by UTF-16 code units', () => {
    const keys = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\u{1f600}': 5, '\u0080': 6, '\u00f6': 7 }
    const order = [...canonicalJson(keys).matchAll(/:(\d)/g)].map(([, digit]) => digit)
    expect(order).toEqual(['2', '4', '6', '7', '1', '5', '3'])
  })

  test('does not depend on the order of keys and parses back to the same value', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const reversed = Object.fromEntries(Object.entries(value).reverse())
        expect(canonicalJson(reversed)).toBe(canonicalJson(value))
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  test('refuses values that JSON cannot represent', () => {
    for (const value of [Number.NaN, '\ud800', { a: () => 1 }, 1n])
      expect(() => canonicalJson(value)).toThrow()
    const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`)
    expect(() => canonicalJson(deep)).toThrow('nested deeper')
  })
})
