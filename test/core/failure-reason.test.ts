import { expect, test } from 'vitest'
import { failureReason } from '../../core/failure-reason.ts'

const refused = (at: string) =>
  Object.assign(new Error(`connect ECONNREFUSED ${at}`), { code: 'ECONNREFUSED' })
const circle = new Error('round')
circle.cause = circle
const unprintable: Record<string, unknown> = {}
unprintable['self'] = unprintable

/** An error with one property of another type than the language gives it. */
const odd = (property: string, value: unknown) =>
  Object.defineProperty(new AggregateError([], 'no'), property, { value })
const throwing = (property: string) =>
  Object.defineProperty(new Error('no'), property, {
    get() {
      throw new Error('getter')
    },
  })

test.each<[string, unknown, string]>([
  ['a message that is an object', odd('message', { code: 7 }), '{"code":7}'],
  ['a message that is a number', odd('message', 7), '7'],
  ['a message that is undefined', odd('message', undefined), 'AggregateError'],
  ['a message that is null', odd('message', null), 'AggregateError'],
  ['a message that is a symbol', odd('message', Symbol('x')), 'Symbol(x)'],
  ['a message that is no JSON', odd('message', unprintable), '[object Object]'],
  ['errors that are no list', odd('errors', 'one'), 'no: one'],
  ['errors that are null', odd('errors', null), 'no: null was thrown'],
  ['a name that is no text', Object.assign(new Error(''), { name: 7 }), '7'],
  ['a message that cannot be read', throwing('message'), 'an error without a message'],
  ['a cause that cannot be read', throwing('cause'), 'an error without a message'],
  ['a message', new Error('no'), 'no'],
  ['a message and its cause', new Error('no', { cause: new Error('because') }), 'no: because'],
  [
    'a cause that the message repeats',
    new Error('no: because', { cause: new Error('because') }),
    'no: because',
  ],
  [
    'a name that is refused on every address',
    Object.assign(new AggregateError([refused('::1:5432'), refused('127.0.0.1:5432')], ''), {
      code: 'ECONNREFUSED',
    }),
    'connect ECONNREFUSED ::1:5432: connect ECONNREFUSED 127.0.0.1:5432',
  ],
  ['no message, a code', Object.assign(new Error(''), { code: 'EMFILE' }), 'EMFILE'],
  ['neither message nor code', new TypeError(''), 'TypeError'],
  ['an empty list of errors', new AggregateError([], ''), 'AggregateError'],
  ['blanks', new Error('  '), 'Error'],
  ['causes in a circle', circle, 'round'],
  ['a text', 'stopped', 'stopped'],
  ['an empty text', '', 'an error without a message'],
  ['nothing', undefined, 'undefined was thrown'],
  ['null', null, 'null was thrown'],
  ['an object', { code: 7 }, '{"code":7}'],
  ['a number', 7, '7'],
  ['an object that is no JSON', unprintable, '[object Object]'],
])('%s is said', (_, error, wanted) => {
  expect(failureReason(error)).toBe(wanted)
})
