import { expect, test } from 'vitest'
import { systemErrorCode } from '../../core/system-error-code.ts'

const taken = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE', syscall: 'listen' })
const cycle = new Error('first')
cycle.cause = new Error('second', { cause: cycle })

test.each([
  ['itself', taken, 'EADDRINUSE'],
  ['its cause', new Error('cannot start', { cause: new Error('no port', { cause: taken }) }), 'EADDRINUSE'],
  ['one of several errors', new AggregateError([new Error('other'), taken]), 'EADDRINUSE'],
  ['nothing, where only the text names a code', new Error('listen EADDRINUSE'), null],
  [
    'nothing, where the code is no code of the system',
    Object.assign(new Error(''), { code: 'conflict' }),
    null,
  ],
  ['nothing in a cycle of causes', cycle, null],
  ['nothing thrown as a text', 'EADDRINUSE', null],
])('the code of the system error is that of %s', (_, error, code) => {
  expect(systemErrorCode(error)).toBe(code)
})
