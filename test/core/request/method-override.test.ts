import { describe, expect, test } from 'vitest'
import { isRefusal, type RawRequest } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import { judgeBodyOverride, judgePairNames, judgePartNames } from '../../../core/request/method-override.ts'

/** Names that servers read as one that replaces the method. `%` and `+` are part of the encoding. */
const ENCODED = [
  ...[
    '_method',
    '_METHOD',
    '-method',
    '%5fmethod',
    '_m%65thod',
    '.method',
    '[method',
    '_method[0]',
    '_method[]',
  ],
  ...[
    '_method%5B%5D',
    '_method[a][b]',
    '_method[',
    '[_method]',
    '[_method',
    '%5B_method%5D[0]',
    '_method[%zz]',
  ],
  ...['_method[%ff]', `_method[${'a'.repeat(500)}]`, `_method%5B${'%61'.repeat(500)}%5D`, '_method%09[0]'],
  ...[
    '_method+++[0]',
    'X-HTTP-Method-Override',
    'x_http_method',
    'X-HTTP-Verb[]',
    'http_x_http_method_override',
  ],
  ...[
    '+',
    '%20',
    '%09',
    '%0a',
    '%0D',
    '%0b',
    '%0c',
    '%01',
    '%1f',
    '%7f',
    '%c2%a0',
    '%c2%85',
    '%e2%80%83',
  ].flatMap(padded),
  ...['%e2%80%8b', '%e2%80%a8', '%e2%81%a0', '%e3%80%80', '%ef%bb%bf', '%c2%ad'].flatMap(padded),
]

function padded(by: string): readonly string[] {
  const pad = by.repeat(64)
  return [
    `${by}_method`,
    `${pad}_method`,
    `_method${pad}`,
    `${pad}_method${pad}[${pad}]`,
    `${by.repeat(5_000)}_method`,
  ]
}

const OTHERS = [
  ...[
    'method',
    'payment_method',
    '_methods',
    '_method_',
    'x_method_y',
    'a[_method]',
    'items[0][_method]',
    '%zz_method',
  ],
  ...[`${'a'.repeat(64)}_method`, '_method.', ' ', '', '[', '[]', '.', '%20'.repeat(500)],
]

function titled(names: readonly string[]) {
  return names.map((name) => [`${name.slice(0, 24)} (${name.length})`, name] as const)
}

function decoded(name: string): string {
  const text = name.replaceAll('+', ' ')
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function postJson(target: string) {
  const rawHeaders = ['Host', 'api.generic.test', 'Content-Type', 'application/json']
  const raw: RawRequest = {
    ...{ method: 'POST', target, rawHeaders, httpVersion: '1.1', scheme: 'https', sources: {} },
  }
  return canonicalise(raw)
}

describe('a name that replaces the method', () => {
  test.each(titled(ENCODED))(
    '%s is refused in a form, a query, JSON and a multipart form',
    (_title, name) => {
      expect(judgePairNames(`a=b&${name}=DELETE`, 'form field')?.code).toBe('ambiguous_request')
      expect(judgePairNames(`a=b;${name}`, 'form field')?.code).toBe('ambiguous_request')
      expect(judgePartNames(['a', decoded(name)])?.code).toBe('ambiguous_request')
      const json = postJson('/things/7')
      if (isRefusal(json)) throw new Error(json.detail)
      const body = Buffer.from(JSON.stringify({ a: 1, [decoded(name)]: 'DELETE' }))
      expect(judgeBodyOverride(body, json)?.code).toBe('ambiguous_request')
      const query = postJson(`/things/7?a=b&${name}=DELETE`)
      expect(isRefusal(query)).toBe(true)
    },
  )

  test.each(titled(OTHERS))('%s is none', (_title, name) => {
    expect(judgePairNames(`a=b&${name}=DELETE`, 'form field')).toBe(null)
    expect(judgePartNames([decoded(name)])).toBe(null)
  })
})
