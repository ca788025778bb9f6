import { expect, test } from 'vitest'
import { otherFields } from '../../../../core/connectors/fields/other-fields.ts'
import {
  comparableNames,
  comparedValues,
  grantObstacle,
} from '../../../../core/decision/permissions/grant.ts'
import { storableForm } from '../../../../core/storable.ts'

const deep = (value: unknown, depth = 50): unknown => (depth === 0 ? value : [deep(value, depth - 1)])

test.each([
  ['a value below the depth of a card', deep('a'), deep('b')],
  ['a number that JSON cannot state', Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  [
    'a number below it',
    { amount: Number.POSITIVE_INFINITY },
    { amount: '(a number that is too large to be stored)' },
  ],
  ['a NUL', 'a\u0000', 'a\u2400'],
  ['an incomplete character', 'a\ud800', 'a\ud801'],
  ['the name of a prototype', JSON.parse('{"__proto__":1}'), { '(__proto__)': 1 }],
])('a grant compares no values that look alike on a card: %s', (_, one, other) => {
  const [first, second] = [storableForm({ name: 'x', one }), storableForm({ name: 'x', one: other })]
  expect(second).toEqual(first)
  expect(comparableNames(first)).toEqual(['name'])
})

test.each([
  ['an empty text', { a: '' }, []],
  ['a secret', { client_secret: 'hush' }, ['other_fields']],
  ['a text that is longer than a card', { text: 'x'.repeat(20_000) }, ['other_fields']],
  ['more fields than a card has room for', manyFields(), ['other_fields']],
])('a grant of all parameters compares other fields that are whole: %s', (_, value, incomparable) => {
  const other_fields = otherFields({ kind: 'json', value }, { parameters: {}, leftOut: [] })
  expect(comparedValues({ parameters: { other_fields } }, [])).toMatchObject({ isExact: true, incomparable })
})

function manyFields(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`f${at}`, 'x']))
}

test('an access request for an action that no rule holds gets no grant, and says why', () => {
  const facts = { risk_score: 0.5, target: null, parameters: {}, path: null, body_sha256: null }
  expect(grantObstacle({ ...facts, access_request: true })).toMatch(
    /^Later requests can be approved only if a rule requires approval for the action/,
  )
  expect(grantObstacle(facts)).toMatch(
    /^A grant \(an approval of later requests\) is not possible, because the request has several actions/,
  )
})
