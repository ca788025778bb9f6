import { describe, expect, test } from 'vitest'
import { isNothing, readPushHead } from '../../../../core/connectors/codehost/push/commands.ts'
import fc from '../../../support/fast-check.ts'

const NOTHING = '0'.repeat(40)
const [A, B] = ['a'.repeat(40), 'b'.repeat(40)]
const line = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text
const bytes = (...parts: string[]) => Buffer.from(parts.join(''), 'latin1')
const first = (command: string, capabilities = 'report-status side-band-64k') =>
  line(`${command}\0${capabilities}`)

describe('the head of a push', () => {
  test('names every reference with its old and new object id', () => {
    const head = readPushHead(
      bytes(
        first(`${NOTHING} ${A} refs/heads/new`),
        line(`${A} ${NOTHING} refs/heads/old\n`),
        line(`${A} ${B} refs/tags/v1`),
        '0000PACK',
      ),
    )
    if (head.kind !== 'commands') throw new Error(head.kind)
    expect(head.commands).toEqual([
      { before: NOTHING, after: A, ref: 'refs/heads/new' },
      { before: A, after: NOTHING, ref: 'refs/heads/old' },
      { before: A, after: B, ref: 'refs/tags/v1' },
    ])
    expect(head.commands.map(({ after }) => isNothing(after))).toEqual([false, true, false])
  })

  test('ends behind push options; shallow lines are no commands', () => {
    const body = bytes(
      line(`shallow ${A}`),
      first(`${A} ${B} refs/heads/x`, ' push-options atomic'),
      '0000',
      line('ci.skip'),
      '0000',
      'PACK',
    )
    expect(readPushHead(body)).toMatchObject({
      kind: 'commands',
      packAt: body.length - 4,
      shallow: new Set([A]),
    })
  })

  test('of an empty push, which only checks permission, names none', () => {
    expect(readPushHead(bytes('0000'))).toEqual({
      kind: 'commands',
      commands: [],
      shallow: new Set(),
      packAt: 4,
    })
  })

  test('requests more bytes at every cut, and never accepts a part as the whole', () => {
    const whole = bytes(first(`${A} ${B} refs/heads/x`), line(`${A} ${NOTHING} refs/heads/main`), '0000')
    fc.assert(
      fc.property(fc.nat(whole.length - 1), (cut) => {
        expect(readPushHead(whole.subarray(0, cut)).kind).toBe('more')
      }),
      { seed: 3 },
    )
    expect(readPushHead(whole).kind).toBe('commands')
  })

  test.each([
    ['a length that is none', 'zzzz'],
    ['a delimiter that servers of this revision do not know', '0001'],
    ['a line that is no command', `${line('hello')}0000`],
    ['a signed push', `${line('push-cert\0 atomic')}${line('certificate version 0.1')}0000`],
    ['half an id', `${first(`${A.slice(1)} ${B} refs/heads/x`)}0000`],
    ['a reference with a blank', `${first(`${A} ${B} refs/heads/x y`)}0000`],
    ['bytes that are no UTF-8', `${first(`${A} ${B} refs/heads/\xff`)}0000`],
  ])('is refused: %s', (_what, text) => {
    expect(readPushHead(bytes(text)).kind).toBe('malformed')
  })
})
