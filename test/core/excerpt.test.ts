import { expect, test } from 'vitest'
import { beginning, excerpt } from '../../core/excerpt.ts'

test('a value that fits stays unchanged', () => {
  const list = [1, { a: 'b' }]
  expect([excerpt('abcde', 5), excerpt(12, 5), excerpt(null, 5)]).toEqual(['abcde', 12, null])
  expect(excerpt(list, 13)).toBe(list)
})

test('a longer value is shortened to its beginning and its length', () => {
  expect(excerpt('abcdef', 5)).toBe('abcde… (6 characters)')
  expect(excerpt([1, { a: 'b' }], 5)).toBe('[1,{"… (13 characters)')
})

test('no character is cut in two', () => {
  expect(beginning('ab\u{1f600}', 3)).toBe('ab\ufffd')
  expect(String(excerpt({ a: '\u{1f600}\u{1f600}' }, 7)).isWellFormed()).toBe(true)
})
