import { describe, expect, test } from 'vitest'
import { createAnswerReader } from '../../../../core/connectors/handles/answer-reader.ts'
import { ANY_MEMBER } from '../../../../core/connectors/handles/member-reader.ts'
import fc from '../../../support/fast-check.ts'

/** Reads a text in pieces of this size. */
function read(text: string, paths: readonly string[][], isEvents = false, size = 7): (string | undefined)[] {
  const reader = createAnswerReader(paths, isEvents)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size))
  return paths.map((_path, at) => reader.found.get(at))
}

describe('an answer', () => {
  test.each([
    ['{"id":"resp_1","object":"response"}', 'resp_1'],
    ['{"output":[{"id":"msg_1"},{"id":"msg_2"}],"id":"resp_1"}', 'resp_1'],
    ['{"output":{"id":"x"},"text":"\\"id\\":\\"y\\"","id":"resp_1"}', 'resp_1'],
    [' {\n "\\u0069d" : "a\\"b" }', 'a"b'],
    ['[{"id":"x"}]', undefined],
    ['{"id":1}', undefined],
    ['{"a":"id","b":"x"}', undefined],
    [`{"id":"${'x'.repeat(600)}"}`, undefined],
    ['"id"', undefined],
  ])('has the member of its root: %s', (text, wanted) => {
    for (const size of [1, 2, 1_000]) expect(read(text, [['id']], false, size)).toEqual([wanted])
  })

  test('has members of members', () => {
    expect(read('{"id":"up_1","file":{"meta":{"id":"n"},"id":"file_1"}}', [['file', 'id'], ['id']])).toEqual([
      'file_1',
      'up_1',
    ])
  })

  test.each([
    ['{"id":1,"result":{"content":[]}}', 'content'],
    ['{"result":{"":1,"b":2}}', ''],
    ['{"result":{}}', undefined],
    ['{"result":"*"}', undefined],
    ['{"result":[{"a":1}]}', undefined],
    ['{"error":{"a":1}}', undefined],
    ['{"x":{"result":{"a":1}}}', undefined],
    ['[{"result":{"a":1}}]', undefined],
  ])('has any member of an object: %s', (text, wanted) => {
    for (const size of [1, 3, 1_000])
      expect(read(text, [['result', ANY_MEMBER]], false, size)).toEqual([wanted])
  })

  test('is read as JSON.parse reads it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 9 }), fc.string(), (value, size, id) => {
        const text = JSON.stringify({ a: value, id, b: value })
        expect(read(text, [['id']], false, size)).toEqual([id])
      }),
    )
  })

  test('is read to a bound', () => {
    const text = `{"x":"${'y'.repeat(1024 * 1024)}","id":"late"}`
    expect(read(text, [['id']], false, 65_536)).toEqual([undefined])
  })
})

describe('a stream of events', () => {
  const created = 'event: response.created\ndata: {"type":"response.created","response":{"id":"resp_1"}}\n\n'
  test.each([
    ['first', created],
    ['behind a comment', `: hi\n\n${created}`],
    ['with other line ends', created.replaceAll('\n', '\r\n')],
    ['without a blank', created.replace('data: ', 'data:')],
    ['behind another event', `data: {"response":{"x":1},"id":"no"}\n\n${created}`],
  ])('has the member of an event: %s', (_what, text) => {
    for (const size of [1, 3, 1_000]) expect(read(text, [['response', 'id']], true, size)).toEqual(['resp_1'])
  })

  const delta = `data: {"delta":{"text":"${'y'.repeat(100_000)}"}}\n\n`
  const last = 'data: {"delta":{"container":{"id":"container_1"}}}\n\n'
  const CONTAINER = [['delta', 'container', 'id']]

  test('has the member of an event behind more than the bound of one event', () => {
    expect(read(delta.repeat(30) + last, CONTAINER, true, 65_536)).toEqual(['container_1'])
  })

  test.each([
    ['one line', (text: string) => `data: {"x":"${text}","delta":{"container":{"id":"late"}}}\n\n`],
    ['a line that is no data', (text: string) => `: ${text}\ndata: {}\n\n`],
  ])('is read to a bound within an event, and behind it: %s', (_what, event) => {
    const long = event('y'.repeat(1024 * 1024))
    for (const size of [65_536, 5_000_000]) {
      expect(read(long, CONTAINER, true, size)).toEqual([undefined])
      expect(read(long + last, CONTAINER, true, size)).toEqual(['container_1'])
    }
  })

  test('has none in a text that only looks like an event', () => {
    const text =
      'data: {"text":"data: {\\"response\\":{\\"id\\":\\"x\\"}}"}\n\nmetadata: {"response":{"id":"y"}}\n\n'
    expect(read(text, [['response', 'id']], true)).toEqual([undefined])
  })
})
