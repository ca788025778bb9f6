import { describe, expect, test } from 'vitest'
import { judgeRepeated, judgeSpelling, pickFields } from '../../../core/connectors/fields/fields.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import { queryFacts } from '../../../core/request/headers/repeated-names.ts'
import { readPairs } from '../../../core/request/target.ts'

type Reading = ReadonlyMap<string, string>
type Reader = (text: string) => Reading

function firstOf(pairs: ReadonlyArray<readonly [string, string]>): Reading {
  return new Map([...pairs].reverse())
}

function pairsOf(text: string, separator: string | RegExp): Array<readonly [string, string]> {
  return text
    .split(separator)
    .filter((piece) => piece !== '')
    .map((piece) => piece.replaceAll('+', ' '))
    .map((piece) => {
      const at = piece.indexOf('=')
      return at === -1 ? [piece, ''] : [piece.slice(0, at), piece.slice(at + 1)]
    })
}

function php(separator: string | RegExp): Reader {
  return (text) => {
    const pairs = pairsOf(text, separator).map(([name, value]) => [name.trimStart(), value] as const)
    return new Map(pairs.filter(([name]) => name !== ''))
  }
}

function python(separator: string | RegExp): Reader {
  return (text) => firstOf(pairsOf(text, separator).filter(([, value]) => value !== ''))
}

/** What one parameter is to servers that take the first or the last of several, and `&` alone or `;` as well. */
const READERS: Readonly<Record<string, Reader>> = {
  WHATWG: (text) => firstOf([...new URLSearchParams(text)]),
  PHP: php('&'),
  'PHP with both separators': php(/[&;]/),
  'Rack 3': (text) => new Map(pairsOf(text, /& */)),
  'Rack 2': (text) => new Map(pairsOf(text, /[&;] */)),
  Python: python('&'),
  'Python before 3.9.2': python(/[&;]/),
}

const PIECES = ['', 'a', 'b', 'a=', 'a=1', 'a=2', 'b=1', '=1', '+a=3']

function joined(count: number): string[] {
  if (count === 1) return PIECES
  return joined(count - 1).flatMap((text) =>
    PIECES.flatMap((piece) => [`${text}&${piece}`, `${text};${piece}`]),
  )
}
const TEXTS = [1, 2, 3].flatMap(joined).filter((text) => text.includes(';'))

/** The values that readers see; a parameter without a value counts as absent, as Python has it. */
function seen(text: string, name: string): ReadonlySet<string> {
  return new Set(Object.values(READERS).map((read) => read(text).get(name) ?? ''))
}

function namesOf(text: string): ReadonlySet<string> {
  return new Set(
    Object.values(READERS).flatMap((read) => [...read(text).keys()].filter((name) => name !== '')),
  )
}

/** Undefined where the reading of the text is refused. */
function pairs(text: string) {
  const read = readPairs(text)
  return isRefusal(read) ? undefined : read
}

describe('a ";" in every place of up to three pieces', () => {
  test('a fact is a list if readers disagree, and else their common value', () => {
    const wrong: string[] = []
    for (const text of TEXTS) {
      const query = pairs(text)
      const facts = query === undefined ? undefined : queryFacts(query)
      for (const name of facts === undefined ? [] : namesOf(text)) {
        const values = seen(text, name)
        const fact = facts?.[name] ?? ''
        const isRight = Array.isArray(fact) || (values.size === 1 && values.has(String(fact)))
        if (!isRight)
          wrong.push(`${text}: ${name} is ${JSON.stringify(fact)}, read as ${[...values].join(' or ')}`)
      }
    }
    expect(TEXTS.length).toBeGreaterThan(2_000)
    expect(wrong).toEqual([])
  })

  test('a declared field of a form or a query is refused, or has the value that all readers see', () => {
    const row = { parameters: ['a'] } as unknown as Parameters<typeof judgeRepeated>[0]
    const wrong: string[] = []
    for (const text of TEXTS) {
      const values = seen(text, 'a')
      for (const form of [true, false]) {
        const fields = pairs(text) ?? []
        const body = { kind: 'form', fields, bytes: new Uint8Array() } as const
        const [query, view] = form ? [[], body] : [fields, undefined]
        if (judgeRepeated(row, query, view) !== null || judgeSpelling(['a'], query, view) !== null) continue
        const value = pickFields(['a'], query, view)['a'] ?? ''
        if (values.size !== 1 || !values.has(String(value)))
          wrong.push(`${text}: ${JSON.stringify(value)}, read as ${[...values].join(' or ')}`)
      }
    }
    expect(wrong).toEqual([])
  })
})

test.each([
  ...['+a=1', 'x=1& a=1', '%20a=1', '%09a=1', 'a+=1', 'A=1', '[a]=1', ']a=1', '[a=1', '[a][b]=1', '+a[]=1'],
  ...['a.b=1', 'a+b=1', 'a%20b[]=1', 'a[b=1', 'A_b=1'],
])('a name that only some servers take for a declared one is refused: %s', (text) => {
  const view = { kind: 'form', fields: pairs(text) ?? [], bytes: new Uint8Array() } as const
  expect(judgeSpelling(['a', 'a_b'], [], view)).toMatchObject({ code: 'ambiguous_request' })
  expect(judgeSpelling(['a', 'a_b'], pairs(text) ?? [], undefined)).toMatchObject({
    code: 'ambiguous_request',
  })
})

test.each(['a=1', 'a[]=1', 'a[0][c]=1', 'a_b=1', 'c[a]=1', 'c.a=1', 'a-b=1', 'aa=1', 'c=1', ''])(
  'other names pass: %s',
  (text) => {
    expect(judgeSpelling(['a', 'a_b'], pairs(text) ?? [], undefined)).toBeNull()
  },
)

test.each(['a;=1&a=2', 'a=2&a;=1', ';a&a=2', 'a=2&;a', 'a;&a=2', 'x;a&a=2', 'a;x=1&a=2'])(
  'a piece without "=" beside a ";" makes its name a list: %s',
  (text) => {
    expect(queryFacts(pairs(text) ?? [])['a']).toContain('2')
    expect(queryFacts(pairs(text) ?? [])['a']).toContain('')
  },
)
