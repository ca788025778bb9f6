import { describe, expect, it, test } from 'vitest'
import { isRefusal } from '../../../../core/request/canonical.ts'
import { SCAN_BOUNDS } from '../../../../core/request/json/json-bounds.ts'
import { MAX_NUMBER_BYTES } from '../../../../core/request/json/json-lexer.ts'
import { scanJson, scanShortJson } from '../../../../core/request/json/json-scan.ts'
import type { ScannedJson } from '../../../../core/request/json/json-scanner.ts'
import type { FindRules } from '../../../../core/request/json/member-finder.ts'
import { parseStrictJson } from '../../../../core/request/json/strict-json.ts'
import { runSliced } from '../../../../core/sliced.ts'
import fc from '../../../support/fast-check.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const KEEP = ['model', 'stream', 'requests.*.model', 'batch.model']
const find: FindRules = { ends: ['url', 'tools.*.type', 'tools.*.?', '^.agent'], opaque: ['schema'] }

/** Scans the text in slices and at once; both must have the same result. */
function scan(text: string | Uint8Array, keep: readonly string[] = KEEP) {
  const input = typeof text === 'string' ? bytes(text) : text
  expect(scanShortJson(input, { keep, find })).toEqual(runSliced(scanJson(input, { keep, find })))
  return runSliced(scanJson(input, { keep }))
}

function scanned(text: string, keep: readonly string[] = KEEP): ScannedJson {
  const result = scan(text, keep)
  if (isRefusal(result)) throw new Error(result.detail)
  return result
}

function codeOf(text: string | Uint8Array): string {
  const result = scan(text)
  return isRefusal(result) ? result.code : result.kind
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const LONG = 'x'.repeat(3 * SCAN_BOUNDS.sliceBytes)

describe('kept members', () => {
  it.each<[string, string, unknown]>([
    [
      'members that were asked for',
      '{"a":1,"model":"m","b":[{}],"stream":true}',
      { model: 'm', stream: true },
    ],
    ['the same behind a long text', `{"a":"${LONG}","model":"m"}`, { model: 'm' }],
    ['a value with a structure', '{"model":{"a":[1,{"b":null}]}}', { model: { a: [1, { b: null }] } }],
    ['a key with escapes', '{"m\\u006fdel":"m"}', { model: 'm' }],
    ['text of any language', '{"model":"größe 🙂 \\ud83d\\ude42"}', { model: 'größe 🙂 🙂' }],
    [
      'members below',
      '{"requests":[{"model":"a"},{"x":1},{"model":"b"}],"batch":{"model":"c"}}',
      {
        requests: [{ model: 'a' }, { model: 'b' }],
        batch: { model: 'c' },
      },
    ],
    ['nothing of another structure', '{"requests":{"*":{"model":"a"}},"batch":[{"model":"c"}]}', {}],
    ['nothing of the same name elsewhere', '{"messages":[{"model":"a"}],"a":{"model":"b"}}', {}],
    ['nothing of an empty object', ' {\n} ', {}],
    ['nothing of a list', '[{"model":"a"}]', []],
    ['nothing of a text', '"model"', []],
  ])('%s', (_what, text, value) => {
    expect(scanned(text).value).toEqual(value)
  })

  it('is the place of the first members of the root, and their number', () => {
    const text = '{ "a" : [1, 2] ,"größe":{"x":{}},"c":null}'
    const { members } = scanned(text)
    const read = members.map(({ key, start, end }) => [
      key,
      new TextDecoder().decode(bytes(text).subarray(start, end)),
    ])
    expect(read).toEqual([
      ['a', '[1, 2]'],
      ['größe', '{"x":{}}'],
      ['c', 'null'],
    ])
    const many = scanned(`{${Array.from({ length: 1000 }, (_, n) => `"k${n}":0`).join()}}`)
    expect([many.members.length, many.memberCount]).toEqual([SCAN_BOUNDS.members, 1000])
  })

  it('keeps its prototype with any keys', () => {
    const { value } = scanned('{"__proto__":{"model":"x"},"constructor":1,"stream":true}')
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(value).toEqual({ stream: true })
  })
})

const AMBIGUOUS = 'ambiguous_request'
const MALFORMED = 'malformed_request'
const TOO_LARGE = 'body_too_large'

/** Texts that some server reads in another way than others; each also behind a text of several slices. */
const HOSTILE: ReadonlyArray<readonly [what: string, members: string, code: string]> = [
  ['a key twice', '"model":"a","model":"b"', AMBIGUOUS],
  ['a key twice, once with escapes', '"model":"a","m\\u006fdel":"b"', AMBIGUOUS],
  ['another key twice', '"x":1,"y":2,"x":3', AMBIGUOUS],
  ['a key twice below', '"messages":[{"role":"a","role":"b"}]', AMBIGUOUS],
  ['a key twice in a tool', '"tools":[{"type":"a","x":{"y":1,"y":2}}]', AMBIGUOUS],
  ['an empty key twice', '"":1,"":2', AMBIGUOUS],
  ['a key twice among many', `${Array.from({ length: 40 }, (_, n) => `"k${n}":0`).join()},"k7":1`, AMBIGUOUS],
  ['another case', '"Model":"a"', AMBIGUOUS],
  ['another case beside', '"model":"a","MODEL":"b"', AMBIGUOUS],
  ['another case with escapes', '"\\u004dodel":"a"', AMBIGUOUS],
  ['wide letters', '"ｍodel":"a"', AMBIGUOUS],
  ['a long s', '"\u017ftream":true', AMBIGUOUS],
  ['a Kelvin sign in a key that is none', '"\u212a":1,"k":2', 'scanned'],
  ['another case below', '"requests":[{"MODEL":"a"}]', AMBIGUOUS],
  ['another case of the way there', '"Requests":[{"model":"a"}]', AMBIGUOUS],
  ['a NUL in a key', '"model\\u0000":"a"', AMBIGUOUS],
  ['a NUL in a key below', '"a":{"\\u0000":1}', AMBIGUOUS],
  ['a raw NUL', '"a":"\0"', MALFORMED],
  ['a raw line feed in a text', '"a":"\n"', MALFORMED],
  ['a raw tab in a key', '"a\t":1', MALFORMED],
  ['an escape that is none', '"a":"\\x41"', MALFORMED],
  ['an escape of three digits', '"a":"\\u041"', MALFORMED],
  ['an escape in capitals', '"a":"\\U0041"', MALFORMED],
  ['single quotes', '\'model\':"a"', MALFORMED],
  ['a bare key', 'model:"a"', MALFORMED],
  ['a comment', '/*"model":"a",*/"model":"b"', MALFORMED],
  ['a line comment', '//\n"model":"b"', MALFORMED],
  ['a hash comment', '#\n"model":"b"', MALFORMED],
  ['a trailing comma', '"model":"b",', MALFORMED],
  ['a leading comma', ',"model":"b"', MALFORMED],
  ['two commas', '"a":1,,"model":"b"', MALFORMED],
  ['no comma', '"a":1 "model":"b"', MALFORMED],
  ['no colon', '"model" "b"', MALFORMED],
  ['two colons', '"model"::"b"', MALFORMED],
  ['an equals sign', '"model"="b"', MALFORMED],
  ['no value', '"model":', MALFORMED],
  ['a key alone', '"model"', MALFORMED],
  ['a list as a key', '["model"]:"b"', MALFORMED],
  ['a number as a key', '1:"b"', MALFORMED],
  ['the wrong bracket', '"a":[1}', MALFORMED],
  ['a list that stays open', '"a":[1', MALFORMED],
  ['a list with a colon', '"a":["b":1]', MALFORMED],
  ['NaN', '"a":NaN', MALFORMED],
  ['Infinity', '"a":-Infinity', MALFORMED],
  ['a plus sign', '"a":+1', MALFORMED],
  ['a leading zero', '"a":01', MALFORMED],
  ['a leading point', '"a":.5', MALFORMED],
  ['a trailing point', '"a":5.', MALFORMED],
  ['a hexadecimal number', '"a":0x10', MALFORMED],
  ['a literal in capitals', '"a":True', MALFORMED],
  ['a literal that goes on', '"a":truely', MALFORMED],
  ['a form feed between', '"a":\f1', MALFORMED],
  ['a no-break space between', '"a":\u00a01', MALFORMED],
  ['a byte order mark within', '"a":\ufeff1', MALFORMED],
  ['a number without end', `"a":${'1'.repeat(MAX_NUMBER_BYTES + 1)}`, MALFORMED],
  ['a depth beyond the bound', `"a":${'['.repeat(64)}${']'.repeat(64)}`, MALFORMED],
  ['keys without end', Array.from({ length: 20_001 }, (_, n) => `"k${n}":0`).join(), TOO_LARGE],
  ['keys of 1 MiB', `"${'k'.repeat(SCAN_BOUNDS.openKeyChars)}":0`, TOO_LARGE],
  ['a model of 1 MiB', `"model":"${'m'.repeat(SCAN_BOUNDS.keptBytes)}"`, TOO_LARGE],
  ['a model of many lists', `"model":[${'[],'.repeat(20_001)}0]`, TOO_LARGE],
]

describe('hostile texts', () => {
  it.each(HOSTILE)('%s', (_what, members, code) => {
    expect(codeOf(`{${members}}`)).toBe(code)
    expect(codeOf(`{"text":"${LONG}",${members}}`)).toBe(code)
    expect(codeOf(`{"list":[{"text":"${LONG}"},{"text":"${LONG}"}],${members}}`)).toBe(code)
  })

  it.each<[string, Uint8Array | string, string]>([
    ['a byte order mark', '\ufeff{"model":"m"}', AMBIGUOUS],
    ['two values', '{"model":"a"}{"model":"b"}', AMBIGUOUS],
    ['a value and a brace', '{"model":"a"}}', AMBIGUOUS],
    ['a line each', '{"model":"a"}\n{"model":"b"}', AMBIGUOUS],
    ['blanks only', ' \n ', MALFORMED],
    ['a cut text', '{"model":"a', MALFORMED],
    ['a cut escape', '{"model":"a\\u00', MALFORMED],
    ['a cut object', '{"model":"a"', MALFORMED],
    ['bytes that are no UTF-8', Uint8Array.of(0x22, 0xff, 0x22), MALFORMED],
    ['an overlong slash', Uint8Array.of(0x22, 0xc0, 0xaf, 0x22), MALFORMED],
    ['a surrogate in UTF-8', Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22), MALFORMED],
    ['a cut character', Uint8Array.of(0x22, 0xe2, 0x82), MALFORMED],
    ['UTF-16', new Uint8Array(Buffer.from('{"model":"a"}', 'utf16le')), MALFORMED],
  ])('%s', (_what, text, code) => {
    expect(codeOf(text)).toBe(code)
  })

  it('bounds the keys of objects that are open at once, and not those of all', () => {
    const object = `{${Array.from({ length: 100 }, (_, n) => `"k${n}":0`).join()}}`
    expect(codeOf(`[${Array.from({ length: 1000 }, () => object).join()}]`)).toBe('scanned')
    const half = Array.from({ length: 10_001 }, (_, n) => `"k${n}":0`).join()
    expect(codeOf(`{${half},"a":{${half}}}`)).toBe(TOO_LARGE)
    expect(codeOf(`{"b":{${half}},"a":{${half}}}`)).toBe('scanned')
  })
})

/** JSON, and what becomes of it when characters are lost, doubled or exchanged. */
const value = fc.jsonValue({ maxDepth: 4 })
const damaged = fc.tuple(
  value,
  fc.nat(),
  fc.constantFrom('', '"', '{', '}', ',', ':', '\\', '0', 'e', ' ', 'é'),
)
const spelt = fc.constantFrom('model', 'Model', 'stream', 'x', 'requests', 'm\\u006fdel')
const keyed = fc.array(fc.tuple(spelt, value), { maxLength: 5 })

describe('beside the strict parser', () => {
  const isSame = (text: string) => {
    const strict = parseStrictJson(text, ['model', 'stream', 'requests', 'batch'])
    const read = scan(text)
    expect(isRefusal(read)).toBe(isRefusal(strict))
    if (isRefusal(read) || isRefusal(strict)) return
    const whole = strict.value
    const isObject = typeof whole === 'object' && whole !== null && !Array.isArray(whole)
    const wanted = isObject ? (whole as Record<string, unknown>) : {}
    const got = read.value as Record<string, unknown>
    for (const name of ['model', 'stream'])
      expect([Object.hasOwn(got, name), got[name]]).toEqual([Object.hasOwn(wanted, name), wanted[name]])
  }

  test('the same texts are refused, and the same values read', () => {
    fc.assert(fc.property(value, (one) => isSame(JSON.stringify(one))))
    fc.assert(fc.property(value, (one) => isSame(JSON.stringify(one, null, 2))))
    fc.assert(
      fc.property(keyed, (all) => isSame(`{${all.map(([k, v]) => `"${k}":${JSON.stringify(v)}`).join()}}`)),
    )
    fc.assert(
      fc.property(damaged, ([one, at, by]) => {
        const text = JSON.stringify({ model: one, stream: true })
        const place = at % text.length
        isSame(text.slice(0, place) + by + text.slice(place + 1))
        isSame(text.slice(0, place) + by + text.slice(place))
      }),
    )
  })
})

describe('slices', () => {
  it('ends each slice after the bounded number of bytes, also inside a string', () => {
    const work = scanJson(bytes(`{"a":"${'x'.repeat(10 * SCAN_BOUNDS.sliceBytes)}","model":"m"}`), {
      keep: KEEP,
    })
    let slices = 1
    let step = work.next()
    for (; step.done !== true; step = work.next()) slices += 1
    expect(slices).toBe(11)
    expect(step.value).toMatchObject({ value: { model: 'm' } })
  })

  it('accepts the bytes that a JSON parser accepts, wherever they stand in a long string', () => {
    const offsets = Array.from(
      { length: 4 },
      (_, offset) => new Uint8Array(new ArrayBuffer(160), offset, 120),
    )
    for (const place of [0, 1, 2, 3, 22, 23, 24, 25, 26, 27, 39, 40, 41, 95, 96, 97, 98, 99]) {
      for (let byte = 0; byte < 0x80; byte++) {
        const text = `{"a":"${'x'.repeat(place)}${String.fromCharCode(byte)}${'x'.repeat(99 - place)}"}`
        const isValid = isJson(text)
        for (const copy of offsets) {
          const whole = copy.subarray(0, text.length)
          whole.set(bytes(text))
          expect(codeOf(whole) === 'scanned', `${byte} at ${place} + ${copy.byteOffset}`).toBe(isValid)
        }
      }
    }
  })

  it('reads escapes over the end of a slice', () => {
    for (const sequence of ['\\\\', '\\"', '\\u00e9']) {
      for (let place = 1; place < 9; place++) {
        const before = '{"a":"'.padEnd(SCAN_BOUNDS.sliceBytes - place, 'x')
        expect(scanned(`${before}${sequence}${'y'.repeat(100)}","model":"m"}`).value).toEqual({ model: 'm' })
      }
    }
  })

  it('accepts only UTF-8, wherever a byte above ASCII stands', () => {
    for (const length of [1, 15, 16, 17, 40]) {
      for (let place = 0; place < length; place++) {
        const text = bytes(`{"a":"${'x'.repeat(place)}é${'x'.repeat(length - place)}"}`)
        expect(codeOf(text)).toBe('scanned')
        expect(codeOf(text.with(text.indexOf(0xa9), 0x78))).toBe('malformed_request')
      }
    }
  })

  it('finds everything wherever a slice ends', () => {
    const text = '"model":"é🙂\\u00e9\\n","stream":true,"requests":[{"model":-1.5e+3},{"model":null}]}'
    for (let shift = 0; shift <= bytes(text).length; shift++) {
      const blanks = ' '.repeat(SCAN_BOUNDS.sliceBytes - 1 - shift)
      expect(scanned(`{${blanks}${text}`).value).toEqual({
        model: 'é🙂é\n',
        stream: true,
        requests: [{ model: -1500 }, { model: null }],
      })
    }
  })

  it('stops at the first thing that is wrong', () => {
    const work = scanJson(bytes(`{"model":1,"model":2,"a":"${LONG}"}`), { keep: KEEP })
    expect(work.next()).toMatchObject({ done: true, value: { code: AMBIGUOUS } })
  })
})
