import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readHead } from '../../../../sidecar/listener/http1/head.ts'
import { HeadMemo } from '../../../../sidecar/listener/http1/head-memo.ts'

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1')
const post = (length: string, more = ''): string =>
  `POST /v1/responses HTTP/1.1\r\nHost: api.openai.com\r\nContent-Length:${length}\r\n${more}Accept: */*\r\n\r\n{"a":1}`

/** Pieces of which a head of hostile spelling can consist. */
const PIECES = [
  ...['GET / HTTP/1.1\r\n', 'POST / HTTP/1.1\r\n', 'POST /a HTTP/1.0\r\n', 'Host: a\r\n', 'Host: b\r\n'],
  ...['Content-Length: 5\r\n', 'Content-Length: 12\r\n', 'content-length:\t12 \r\n', 'Content-Length: 0\r\n'],
  ...[
    'Content-Length: 012\r\n',
    'Content-Length: 1_2\r\n',
    'Content_Length: 12\r\n',
    'Content-Length: 1 2\r\n',
  ],
  ...['X-Content-Length: 7\r\n', 'A: x\r\n', 'A: Content-Length: 4\r\n', 'Transfer-Encoding: chunked\r\n'],
  ...['Connection: close\r\n', 'Expect: 100-continue\r\n', 'Content-Length: 99999999999999999\r\n'],
  ...['\r\n', '\n', '\r', '12345', '\r\n\r\n'],
]

describe('the last head of a connection', () => {
  it('is taken again for the same bytes, and its template stays', () => {
    const memo = new HeadMemo()
    const first = memo.read(bytesOf(post(' 7')), 0)
    const { template } = memo
    const second = memo.read(bytesOf(post(' 7')), 0)
    expect(second).toEqual(first)
    expect(second.kind === 'head' && first.kind === 'head' && second.head === first.head).toBe(true)
    expect(memo.template).toBe(template)
  })

  it.each([
    ['as many digits', ' 9', true],
    ['more digits', ' 1234', true],
    ['a zero', ' 0', false],
    ['a leading zero', ' 07', false],
    ['no digit', ' x', false],
    ['a sign', ' +7', false],
    ['sixteen digits', ` ${'9'.repeat(16)}`, false],
    ['other blanks', '  7', false],
  ])('is read as without a memo with %s in Content-Length', (_what, length, isShared) => {
    const memo = new HeadMemo()
    memo.read(bytesOf(post(' 7')), 0)
    const { template } = memo
    const bytes = bytesOf(post(length))
    expect(memo.read(bytes, 0)).toEqual(readHead(bytes))
    expect(memo.template === template && memo.read(bytes, 0).kind === 'head').toBe(isShared)
  })

  it('is not taken for a head that only begins or ends like it', () => {
    for (const other of [post(' 7', 'X: 1\r\n'), post(' 7').slice(0, 60), `\r\n${post(' 7')}`]) {
      const memo = new HeadMemo()
      memo.read(bytesOf(post(' 7')), 0)
      expect(memo.read(bytesOf(other), 0)).toEqual(readHead(bytesOf(other)))
    }
  })

  it('gives the result of the parser for any two heads, one after the other', () => {
    const head = fc.array(fc.constantFrom(...PIECES), { maxLength: 7 }).map((pieces) => pieces.join(''))
    const pairs = fc.oneof(
      fc.tuple(head, head),
      head.chain((text) => fc.tuple(fc.constant(text), fc.constant(text.replace(/\d+/, '34')))),
    )
    fc.assert(
      fc.property(pairs, fc.boolean(), (texts, isEnded) => {
        const memo = new HeadMemo()
        for (const text of texts) {
          const bytes = bytesOf(isEnded ? `${text}\r\n` : text)
          expect(memo.read(bytes, 0)).toEqual(readHead(bytes))
        }
      }),
      { numRuns: 3_000 },
    )
  })
})
