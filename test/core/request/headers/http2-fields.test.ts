import { describe, expect, it } from 'vitest'
import { countFieldLines, Http2FieldCounter } from '../../../../core/request/headers/http2-fields.ts'
import { FLAG, fields, frame, headersFrame, PREFACE, TYPE } from '../../../support/raw-http2.ts'

const PAIRS = [
  [':method', 'GET'],
  ['x-a', 'v'.repeat(300)],
  ['', 'empty'],
  ['x\r\ny', '1'],
] as const

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'))

describe('counting the field lines of a header block', () => {
  it.each([
    ['nothing', '', 0],
    [
      'RFC 7541 C.2.1, literal with indexing',
      '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572',
      1,
    ],
    ['RFC 7541 C.2.2, literal without indexing', '040c 2f73 616d 706c 652f 7061 7468', 1],
    ['RFC 7541 C.2.3, never indexed', '1008 7061 7373 776f 7264 0673 6563 7265 74', 1],
    ['RFC 7541 C.2.4, indexed', '82', 1],
    ['RFC 7541 C.3.1', '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d', 4],
    ['RFC 7541 C.3.2', '8286 84be 5808 6e6f 2d63 6163 6865', 5],
    ['RFC 7541 C.4.3, Huffman', '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf', 5],
    [
      'RFC 7541 C.6.1',
      '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
      4,
    ],
    ['a table size update before a field', '3fe11f 82', 1],
    ['an index of several bytes', 'ff8001', 1],
  ])('%s', (_name, block, count) => {
    expect(countFieldLines(hex(block))).toBe(count)
  })

  it.each([
    ['a string longer than the block', '400a6375'],
    ['a name without a value', '4001 61'],
    ['an integer without an end', '7fffffffffffff'],
    ['an integer that is cut off', '7f'],
    ['a string length of 2^40', '407fffffffffff01'],
  ])('%s is no header block', (_name, block) => {
    expect(countFieldLines(hex(block))).toBeNull()
  })
})

describe('counting the field lines of requests', () => {
  const padded = Buffer.concat([Buffer.from([3]), Buffer.alloc(5), fields(PAIRS), Buffer.alloc(3)])
  const whole = Buffer.concat([
    PREFACE,
    headersFrame(1, PAIRS),
    frame(TYPE.data, 0, 1, Buffer.alloc(70)),
    frame(TYPE.headers, FLAG.endHeaders | 0x28, 3, padded),
    frame(TYPE.headers, 0, 5, fields(PAIRS).subarray(0, 100)),
    frame(TYPE.continuation, 0, 5, fields(PAIRS).subarray(100, 101)),
    frame(TYPE.continuation, FLAG.endHeaders, 5, fields(PAIRS).subarray(101)),
    headersFrame(5, [['trailer', '1']]),
    frame(TYPE.ping, 0, 0, Buffer.alloc(8)),
    headersFrame(7, [PAIRS[0]]),
  ])

  it.each([1, 2, 9, 10, 24, 33, 100, 5_000])('does not depend on the division into chunks of %i', (size) => {
    const counter = new Http2FieldCounter()
    for (let at = 0; at < whole.length; at += size) counter.read(Buffer.from(whole.subarray(at, at + size)))
    expect([1, 3, 5, 7].map((stream) => counter.take(stream))).toEqual([4, 4, 4, 1])
  })

  it('keeps nothing of the buffer that it was given', () => {
    const counter = new Http2FieldCounter()
    const first = Buffer.from(whole.subarray(0, PREFACE.length + 20))
    counter.read(first)
    first.fill(0xff)
    counter.read(whole.subarray(PREFACE.length + 20))
    expect(counter.take(1)).toBe(4)
  })

  it('cannot tell for a stream whose header list did not come, or that was passed over', () => {
    const counter = new Http2FieldCounter()
    counter.read(whole)
    expect(counter.take(9)).toBeNull()
    expect(counter.take(1)).toBeNull()
  })

  it.each([
    ['padding longer than the frame', frame(TYPE.headers, FLAG.endHeaders | 0x8, 1, Buffer.from([9, 0]))],
    ['a continuation of nothing', frame(TYPE.continuation, FLAG.endHeaders, 1, fields(PAIRS))],
    [
      'a continuation of another stream',
      Buffer.concat([frame(TYPE.headers, 0, 1, fields(PAIRS)), frame(TYPE.continuation, 4, 3)]),
    ],
    ['a block that is no HPACK', frame(TYPE.headers, FLAG.endHeaders, 1, Buffer.from([0x7f]))],
  ])('cannot tell for any stream after %s', (_name, bytes) => {
    const counter = new Http2FieldCounter()
    counter.read(Buffer.concat([PREFACE, bytes, headersFrame(5, PAIRS)]))
    expect(counter.take(5)).toBeNull()
  })
})
