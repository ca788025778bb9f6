import { describe, expect, test } from 'vitest'
import { isRefusal } from '../../../../core/request/canonical.ts'
import { parseStrictJson } from '../../../../core/request/json/strict-json.ts'
import fc from '../../../support/fast-check.ts'

function codeOf(text: string, keys: readonly string[] = []): string {
  const parsed = parseStrictJson(text, keys)
  return isRefusal(parsed) ? parsed.code : 'accepted'
}

describe('JSON that every parser reads alike', () => {
  test.each<[string, string, string[]]>([
    ['a duplicate key', '{"a":1,"a":2}', []],
    ['a duplicate key after an escape', '{"a":1,"\\u0061":2}', []],
    ['a duplicate key deep inside', '[{"x":[{"a":1,"b":2,"a":3}]}]', []],
    ['a duplicate among many', `{${Array.from({ length: 40 }, (_, i) => `"k${i}":0`).join()},"k3":1}`, []],
    ['a key in other case', '{"State":1}', ['state']],
    ['a full-width key', '{"ｓtate":1}', ['state']],
    ['a long s', '{"ſtate":1}', ['state']],
    ['a Kelvin sign', '{"\u212Aey":1}', ['key']],
    ['a dotless i', '{"\u0131d":1}', ['id']],
    ['a ligature', '{"\uFB01le":1}', ['file']],
    ['a folded key below a path', '{"params":{"NAME":1}}', ['params.name']],
    ['a folded key in a batch', '[{"params":{"NAME":1}}]', ['params.name']],
    ['a NUL in a key', '{"a\\u0000b":1}', []],
    ['a byte order mark', '\ufeff{}', []],
    ['trailing data', '{"a":1} x', []],
    ['a second value', '[1][2]', []],
  ])('%s is ambiguous', (_name, text, keys) => {
    expect(codeOf(text, keys)).toBe('ambiguous_request')
  })

  test.each([
    '',
    ' ',
    '{',
    '{"a"}',
    '{"a":}',
    "{'a':1}",
    '{"a":1,}',
    '[1,]',
    'NaN',
    '01',
    '"a',
    '{"a":"\n"}',
    'undefined',
    '{a:1}',
  ])('%j is no JSON', (text) => {
    expect(codeOf(text)).toBe('malformed_request')
  })

  test('folding matters only where the key decides', () => {
    expect(
      codeOf('{"params":{"arguments":{"NAME":1}},"x":{"STATE":1},"y":[{"STATE":1}]}', [
        'params.name',
        'state',
      ]),
    ).toBe('accepted')
  })

  test('keys with the names of members of Object.prototype are keys', () => {
    expect(parseStrictJson('{"__proto__":1,"constructor":2,"toString":3}', ['x'])).toMatchObject({
      kind: 'parsed',
    })
    expect(codeOf('{"__proto__":1,"__proto__":2}')).toBe('ambiguous_request')
  })

  test('depth ends at 64', () => {
    expect(codeOf(`${'['.repeat(64)}${']'.repeat(64)}`)).toBe('accepted')
    expect(codeOf(`${'['.repeat(65)}${']'.repeat(65)}`)).toBe('malformed_request')
    expect(codeOf('['.repeat(500_000))).toBe('malformed_request')
  })

  test('every output of JSON.stringify is read back unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify(value)
        const parsed = parseStrictJson(text, ['state', 'params.name'])
        if (!isRefusal(parsed)) expect(parsed.value).toEqual(JSON.parse(text))
        else expect(parsed.code).toBe('ambiguous_request')
      }),
      { seed: 7, numRuns: 300 },
    )
  })

  test('an object with one key written twice is never accepted, however it is escaped', () => {
    const escaped = (key: string) =>
      [...key].map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, maxLength: 8 }).filter((key) => /^[a-z]+$/i.test(key)),
        (key) => {
          expect(codeOf(`{"${key}":{"x":[]},"y":"}","${escaped(key)}":1}`)).toBe('ambiguous_request')
        },
      ),
      { seed: 7, numRuns: 100 },
    )
  })

  // A parser that is quadratic in the length exceeds the time limit of the test. The number of members is bounded.
  test.each([
    ['members', `{${Array.from({ length: 19_000 }, (_, i) => `"key${i}":"v"`).join(',')}}`],
    ['elements', `[${'1,'.repeat(190_000)}1]`],
    ['escapes', `{"a":"${'\\\\'.repeat(10_000_000)}"}`],
  ])('a text with very many %s is parsed in one pass', (_, text) => {
    expect(parseStrictJson(text, ['state']).kind).toBe('parsed')
  })
})
