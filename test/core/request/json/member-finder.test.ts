import { describe, expect, it } from 'vitest'
import { isRefusal } from '../../../../core/request/canonical.ts'
import { SCAN_BOUNDS } from '../../../../core/request/json/json-bounds.ts'
import { scanJson } from '../../../../core/request/json/json-scan.ts'
import { FIND_BOUNDS } from '../../../../core/request/json/member-finder.ts'
import { runSliced } from '../../../../core/sliced.ts'

const find = {
  ends: [
    ...['image_url', 'image_url.url', 'tools.*.type', 'tools.*.domains.*', 'kinds.*.?', '^.root'],
    'graders.?.type',
  ],
  opaque: ['input'],
  callerKeys: ['variables'],
}

function found(text: string) {
  const result = runSliced(scanJson(new TextEncoder().encode(text), { keep: ['model'], find }))
  if (isRefusal(result)) return result.code
  return result.found.map(({ place, members, names }) => [
    place.join('.'),
    Object.fromEntries(members),
    names,
  ])
}

describe('members that are looked for at any depth', () => {
  it.each<[string, string, unknown]>([
    ['by name', '{"a":[{"b":{"image_url":"u"}}]}', [['a.*.b', { image_url: 'u' }, []]]],
    [
      'by the keys above',
      '{"a":{"image_url":{"url":"u"}},"url":"x"}',
      [
        ['a', { image_url: {} }, []],
        ['a.image_url', { url: 'u' }, []],
      ],
    ],
    [
      'in elements of a list, each by itself',
      '{"tools":[{"x":1,"type":"a"},{"type":"b"}],"type":"c"}',
      [
        ['tools.*', { type: 'a' }, []],
        ['tools.*', { type: 'b' }, []],
      ],
    ],
    [
      'as elements of a list',
      '{"tools":[{"domains":["a",{"b":1},"c"]}]}',
      [['tools.*.domains', { '*': ['a', {}, 'c'] }, []]],
    ],
    [
      'by any name',
      '{"kinds":[{"a":{"image_url":"u"},"__proto__":2}]}',
      [
        ['kinds.*', {}, ['a', '__proto__']],
        ['kinds.*.a', { image_url: 'u' }, []],
      ],
    ],
    ['with escapes in their names', '{"image\\u005furl":"u"}', [['', { image_url: 'u' }, []]]],
    ['not in arbitrary JSON of the caller', '{"input":{"image_url":"u"},"a":1}', []],
    [
      'below any key',
      '{"graders":{"a":{"type":"p"},"b":{"c":{"type":"q"}}},"x":{"type":"r"}}',
      [['graders.a', { type: 'p' }, []]],
    ],
    [
      'below keys of the caller under the name of arbitrary JSON',
      '{"variables":{"input":{"image_url":"u"}},"input":{"variables":{"image_url":"v"}}}',
      [['variables.input', { image_url: 'u' }, []]],
    ],
    ['also behind arbitrary JSON', '{"input":{"a":[{}]},"image_url":"u"}', [['', { image_url: 'u' }, []]]],
    ['not in other places', '{"tools":{"type":"a"},"b":{"root":1}}', []],
    ['at the root', '{"root":1}', [['', { root: 1 }, []]]],
    ['with objects and lists as such', '{"image_url":["u"]}', [['', { image_url: {} }, []]]],
  ])('are found %s', (_how, text, value) => {
    expect(found(text)).toEqual(value)
  })

  it('are found behind texts that are longer than a slice', () => {
    const long = 'x'.repeat(3 * SCAN_BOUNDS.sliceBytes)
    expect(found(`{"a":"${long}","tools":[{"a":"${long}","type":"t"}]}`)).toEqual([
      ['tools.*', { type: 't' }, []],
    ])
  })

  it('are known by their beginning where they are long', () => {
    const text = `data:${'x'.repeat(5 * SCAN_BOUNDS.sliceBytes)}`
    const [[, { image_url: url }]] = found(`{"image_url":"${text}"}`) as [[string, { image_url: string }]]
    expect(url).toBe(text.slice(0, FIND_BOUNDS.textBytes))
  })

  it('are bounded in number', () => {
    const objects = (count: number) => `[${Array(count).fill('{"image_url":"u"}').join()}]`
    expect(found(objects(FIND_BOUNDS.objects))).toHaveLength(FIND_BOUNDS.objects)
    expect(found(objects(FIND_BOUNDS.objects + 1))).toBe('body_too_large')
  })

  it('do not hide errors of a scan', () => {
    expect(found('{"tools":[{"type":"a","type":"b"}]}')).toBe('ambiguous_request')
  })
})
