import { describe, expect, it } from 'vitest'
import { storableForm, unstorableIn } from '../../core/storable.ts'
import fc from '../support/fast-check.ts'

describe("storable form of an agent's value", () => {
  it('replaces parts that cannot be stored with visible text', () => {
    const deep = JSON.parse(`${'[1,'.repeat(60)}2${']'.repeat(60)}`)
    const given = { text: 'a\0b', half: 'x\ud83d', large: Number.POSITIVE_INFINITY, 'k\0': [{ deep }] }
    const shown = storableForm(given)
    expect(shown).toMatchObject({
      text: 'a\u2400b',
      half: 'x\ufffd',
      large: '(a number that is too large to be stored)',
    })
    expect(JSON.stringify(shown['k\u2400'])).toContain('(nested deeper)')
    expect(JSON.stringify(storableForm(JSON.parse('{"__proto__":{"a":1}}')))).toBe('{"(__proto__)":{"a":1}}')
  })

  it('is always storable, and storable values stay unchanged', () => {
    const values = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' }))
    const hostile = fc.dictionary(
      fc.string({ unit: fc.constantFrom('a', '\0', '\ud83d', '\udca9') }),
      fc.anything({ values: [fc.string({ unit: fc.constantFrom('a', '\0', '\ud83d') }), fc.double()] }),
    )
    fc.assert(
      fc.property(hostile, (value) => {
        expect(unstorableIn(storableForm(value))).toBeNull()
      }),
    )
    fc.assert(
      fc.property(values, (value) => {
        const isPlain = unstorableIn(value) === null && !JSON.stringify(value).includes('__proto__')
        if (isPlain) expect(JSON.stringify(storableForm(value))).toBe(JSON.stringify(value))
      }),
    )
  })
})
