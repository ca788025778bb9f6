import { describe, expect, test } from 'vitest'
import { isRefusal } from '../../../../core/request/canonical.ts'
import { queryFacts, repeatedName } from '../../../../core/request/headers/repeated-names.ts'
import { readPairs } from '../../../../core/request/target.ts'

function pairsOf(text: string) {
  const pairs = readPairs(text)
  if (isRefusal(pairs)) throw new Error(pairs.detail)
  return pairs
}

describe('query parameters as facts', () => {
  test.each<[string, Record<string, unknown>]>([
    ['', {}],
    ['a=1', { a: '1' }],
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=1&a=2', { a: ['1', '2'] }],
    ['a=2&a=1', { a: ['2', '1'] }],
    ['a=1&a=1', { a: ['1', '1'] }],
    ['a=1&%61=2', { a: ['1', '2'] }],
    ['a=1&A=2', { a: ['1', '2'], A: ['1', '2'] }],
    ['a=1&+a=2', { a: ['1', '2'], ' a': ['1', '2'] }],
    ['a=1&a%20=2', { a: ['1', '2'], 'a ': ['1', '2'] }],
    ['+a=1', { a: ['1'], ' a': ['1'] }],
    ['a&a=2', { a: ['', '2'] }],
    ['a', { a: '' }],
    ['=1', { '': '1' }],
    ['=1&=2', { '': ['1', '2'] }],
    ['a[]=1', { a: ['1'], 'a[]': '1' }],
    ['a[]=1&a[]=2', { a: ['1', '2'], 'a[]': ['1', '2'] }],
    ['a%5B%5D=1', { a: ['1'], 'a[]': '1' }],
    ['a[0]=1&a[1]=2', { a: ['1', '2'], 'a[0]': '1', 'a[1]': '2' }],
    ['a=1&a[]=2', { a: ['1', '2'], 'a[]': '2' }],
    ['A=1&a[]=2', { a: ['1', '2'], A: ['1', '2'], 'a[]': '2' }],
    ['[a]=1', { '[a]': '1' }],
    ['a=1;a=2', { a: ['1;a=2', '1', '2'] }],
    ['a=1;b', { a: ['1;b', '1'], b: ['', ''] }],
    ['b=0;a=1', { b: ['0;a=1', '0'], a: ['1', '1'] }],
    ['a=1%3Ba=2', { a: '1;a=2' }],
    ['__proto__=1&__proto__=2', JSON.parse('{"__proto__": ["1", "2"]}') as Record<string, unknown>],
  ])('%s', (text, wanted) => {
    const facts = queryFacts(pairsOf(text))
    expect(Object.entries(facts).sort()).toEqual(Object.entries(wanted).sort())
  })
})

describe('a parameter that is declared once', () => {
  test.each([
    'amount=1&amount=2',
    'amount=1&Amount=2',
    'amount=1&%61mount=2',
    'amount=1&+amount=2',
    'amount=1&amount[]=2',
    'amount[]=1&amount=2',
    'amount[0]=1&amount=2',
    'amount[x]=1&amount[x]=2',
    'amount&amount=1',
    'x=1;amount=1&amount=2',
    'amount=1;x',
    'amount=1;AMOUNT=2',
    'x;amount=1',
    'amount;x=1',
    ';amount=1',
    'amount=1;',
  ])('is repeated by %s', (text) => {
    expect(repeatedName(['id', 'amount'], pairsOf(text))).toBe('amount')
  })

  test.each([
    'amount=1',
    'amount=1&amount_x=2',
    'amount=1&xamount=2',
    'amount[]=1&amount[]=2',
    'amount[0]=1&amount[1]=2',
    'amount[a]=1&amount[b]=2',
    'other=1&other=2',
    'amount=1%3Bamount=2',
  ])('is not repeated by %s', (text) => {
    expect(repeatedName(['id', 'amount'], pairsOf(text))).toBeNull()
  })
})
