import { describe, expect, test } from 'vitest'
import { diffLines } from '../../../controlplane/dashboard/pages/policies/line-diff.ts'
import fc from '../../support/fast-check.ts'

const signs = (before: string, after: string) =>
  diffLines(before, after).map(({ kind, text }) => ({ same: ' ', added: '+', removed: '-' })[kind] + text)

describe('the difference of two texts', () => {
  test('keeps what both have and shows what went before what came', () => {
    expect(signs('a\nb\nc', 'a\nx\nc\nd')).toEqual([' a', '-b', '+x', ' c', '+d'])
    expect(signs('same', 'same')).toEqual([' same'])
  })

  test('gives back both texts, whatever they are', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { minLength: 1, maxLength: 12 })
    fc.assert(
      fc.property(text, text, (a, b) => {
        const lines = diffLines(a.join('\n'), b.join('\n'))
        expect(lines.filter(({ kind }) => kind !== 'added').map((line) => line.text)).toEqual(a)
        expect(lines.filter(({ kind }) => kind !== 'removed').map((line) => line.text)).toEqual(b)
      }),
    )
  })
})
