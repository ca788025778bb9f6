import { describe, expect, test } from 'vitest'
import { createKeyScan, parseBody } from '../../../../core/request/body/body.ts'
import { type BodyInfo, isRefusal } from '../../../../core/request/canonical.ts'
import fc from '../../../support/fast-check.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const info = (more: Partial<BodyInfo> = {}): BodyInfo => ({
  isChunked: false,
  mediaType: 'application/json',
  ...more,
})

function kindOf(body: Uint8Array, bodyInfo: BodyInfo): string {
  const view = parseBody(body, bodyInfo, ['state'])
  return isRefusal(view) ? view.code : view.kind
}

describe('a whole body', () => {
  test.each<[string, Partial<BodyInfo>, string]>([
    ['JSON', {}, 'json'],
    ['JSON of a vendor', { mediaType: 'application/vnd.api+json' }, 'json'],
    ['JSON with its charset', { charset: 'utf-8' }, 'json'],
    ['multipart', { mediaType: 'multipart/form-data' }, 'opaque'],
    ['text', { mediaType: 'text/plain' }, 'opaque'],
    ['something that only looks like JSON', { mediaType: 'application/jsonx' }, 'opaque'],
    ['compressed JSON', { encoding: 'gzip' }, 'unsupported_body'],
    ['JSON in another charset', { charset: 'utf-16le' }, 'unsupported_body'],
  ])('%s is read as %s allows', (_name, more, kind) => {
    expect(kindOf(bytes('{"a":1}'), info(more))).toBe(kind)
  })

  test('is unknown without a media type', () => {
    expect(kindOf(bytes('{}'), { isChunked: false })).toBe('opaque')
  })

  test('zero bytes are no body, with any announced length', () => {
    expect(kindOf(new Uint8Array(), info({ encoding: 'gzip' }))).toBe('absent')
  })

  test('bytes that are not UTF-8 are refused, never replaced', () => {
    expect(kindOf(new Uint8Array([0x22, 0xff, 0x22]), info())).toBe('malformed_request')
    expect(kindOf(new Uint8Array([0x22, 0xc0, 0xaf, 0x22]), info())).toBe('malformed_request')
  })

  test('invalid JSON is distinguished from ambiguous JSON', () => {
    expect(kindOf(bytes('{"a":'), info())).toBe('invalid')
    expect(kindOf(bytes('{"a":1,"a":2}'), info())).toBe('ambiguous_request')
  })

  test('JSON that looks like one of our refusals is only JSON', () => {
    expect(kindOf(bytes('{"kind":"refusal","code":"denied","detail":""}'), info())).toBe('json')
  })

  test('a form keeps order, brackets and repeats', () => {
    const form = info({ mediaType: 'application/x-www-form-urlencoded' })
    const sent = bytes('a[b]=1&c=x+y&a%5Bb%5D=2&d')
    expect(parseBody(sent, form, [])).toEqual({
      kind: 'form',
      bytes: sent,
      fields: [
        ['a[b]', '1'],
        ['c', 'x y'],
        ['a[b]', '2'],
        ['d', ''],
      ],
    })
    expect(kindOf(bytes('a=%zz'), form)).toBe('malformed_request')
    expect(kindOf(bytes('a=1&_method=delete'), form)).toBe('ambiguous_request')
  })
})

describe('the key scan of a streamed body', () => {
  const scan = (text: string, keys: readonly string[], size = 7) => {
    const keyScan = createKeyScan(keys)
    const body = bytes(text)
    for (let i = 0; i < body.length; i += size) keyScan.push(body.subarray(i, i + size))
    return { seen: Object.fromEntries(keyScan.seen()), isDone: keyScan.isDone }
  }

  test('sees top-level scalars only', () => {
    const text =
      '{"messages":[{"stream":false,"x":"\\"stream\\":1"}],"s":{"stream":0}, "stream" : true ,"model":"m"}'
    expect(scan(text, ['stream', 'model'])).toEqual({ seen: { stream: true, model: 'm' }, isDone: true })
  })

  test('stops when all was seen, and when the object ends', () => {
    const keyScan = createKeyScan(['stream'])
    keyScan.push(bytes('{"stream":true,"messages":['))
    expect(keyScan.isDone).toBe(true)
    expect(scan('{"a":1}', ['stream'])).toEqual({ seen: {}, isDone: true })
    expect(scan('[{"stream":true}]', ['stream'])).toEqual({ seen: {}, isDone: true })
  })

  test('leaves out values too long to matter, and reads escaped keys', () => {
    expect(scan(`{"model":"${'x'.repeat(5_000)}","str\\u0065am":false}`, ['model', 'stream']).seen).toEqual({
      stream: false,
    })
  })

  test('does not care where the chunks are cut', () => {
    fc.assert(
      fc.property(
        fc.record({
          a: fc.jsonValue({ maxDepth: 2 }),
          stream: fc.boolean(),
          z: fc.string({ maxLength: 20 }),
        }),
        fc.integer({ min: 1, max: 9 }),
        (value, size) => {
          expect(scan(JSON.stringify(value), ['stream', 'z'], size).seen).toEqual({
            stream: value.stream,
            z: value.z,
          })
        },
      ),
      { seed: 11, numRuns: 200 },
    )
  })

  test('keeps nothing of a body that is not JSON', () => {
    expect(scan('stream=true&x={', ['stream']).seen).toEqual({})
  })
})
