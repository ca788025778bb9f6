import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { RefusalsSchema } from '../../../core/record.ts'
import {
  createRefusalWindows,
  type Refusal,
  type RefusalRow,
  refusalsText,
} from '../../../core/state/refusal-windows.ts'

const hash = (text: string) =>
  Number.parseInt(createHash('sha256').update(text).digest('hex').slice(0, 13), 16)
const START_MS = Date.parse('2026-03-01T00:00:30.000Z')

type Sent = Partial<Refusal> & { readonly agent?: string; readonly atMs?: number; readonly wallMs?: number }

/** Sends refusals through windows; counts what got a record of its own, and the rows. */
function send(refusals: Iterable<Sent>) {
  const ended: RefusalRow<number>[] = []
  let opened = 0
  const windows = createRefusalWindows<number>({
    hash,
    open: () => opened++,
    onEnd: (row) => void ended.push(row),
  })
  const whole: Sent[] = []
  let total = 0
  for (const sent of refusals) {
    total++
    const { agent = 'bot', atMs = 0, wallMs = atMs, ...refusal } = sent
    const time = new Date(START_MS + wallMs).toISOString()
    const filled = { action: 'a.b', target: 't', rule: 'r', reason: 'permission', ...refusal }
    if (windows.admit(agent, filled, { nowMs: atMs, time }) === null) whole.push(sent)
  }
  windows.close()
  expect(windows.nextEndMs).toBeNull()
  const counted = ended.reduce((sum, { tally }) => sum + tally.count, 0)
  expect(whole.length + counted, 'each is counted once').toBe(total)
  for (const { tally } of ended) {
    expect(RefusalsSchema.safeParse(tally).error).toBeUndefined()
    expect(Object.values(tally.reasons).reduce((a, b) => a + b, 0)).toBe(tally.count)
    expect(tally.first <= tally.last).toBe(true)
  }
  return { whole: whole.length, rows: ended.map(({ tally }) => tally) }
}

const many = (count: number, of: (n: number) => Sent): Sent[] =>
  Array.from({ length: count }, (_, n) => of(n))

describe('refusals of one agent in one minute', () => {
  test.each<[string, Sent[], { whole: number; rows: number; distinct?: number; more?: boolean }]>([
    ['sixty of a kind', many(60, () => ({})), { whole: 60, rows: 0 }],
    ['sixty-one of a kind', many(61, () => ({})), { whole: 60, rows: 1, distinct: 1 }],
    ['20,000 of a kind', many(20_000, () => ({})), { whole: 60, rows: 1, distinct: 1 }],
    [
      'target of each its own',
      many(20_000, (n) => ({ target: `t${n}` })),
      { whole: 599, rows: 1, distinct: 10_000, more: true },
    ],
    [
      'target of each its own, 5,000 of them',
      many(5_599, (n) => ({ target: `t${n}` })),
      { whole: 599, rows: 1, distinct: 5_000, more: false },
    ],
    [
      'action of each its own',
      many(5_000, (n) => ({ action: `a.${n}` })),
      { whole: 599, rows: 1, distinct: 1 },
    ],
    ['rule of each its own', many(5_000, (n) => ({ rule: `r${n}` })), { whole: 599, rows: 1 }],
    ['reason of each its own', many(700, (n) => ({ reason: `reason${n}` })), { whole: 599, rows: 1 }],
    [
      'all of each its own',
      many(5_000, (n) => ({ action: `${n}`, target: `${n}`, rule: `${n}` })),
      { whole: 599, rows: 1 },
    ],
    [
      'two kinds in turns',
      many(10_000, (n) => ({ target: `t${n % 2}` })),
      { whole: 60, rows: 1, distinct: 2 },
    ],
    [
      '600 kinds in turns',
      many(6_000, (n) => ({ target: `t${n % 600}` })),
      { whole: 599, rows: 1, distinct: 600 },
    ],
    [
      'a new kind after a flood',
      [...many(1_000, () => ({})), { target: 'other' }],
      { whole: 61, rows: 1, distinct: 1 },
    ],
    ['an action that is not known', many(100, () => ({ action: null })), { whole: 60, rows: 1 }],
    ['no rule', many(100, () => ({ rule: null })), { whole: 60, rows: 1 }],
    [
      'null and the text null differ',
      [...many(100, () => ({ rule: null })), { rule: 'null' }],
      { whole: 61, rows: 1 },
    ],
    ['an empty target', many(100, () => ({ target: '' })), { whole: 60, rows: 1, distinct: 1 }],
    [
      'parts that read alike when they are joined',
      [...many(100, () => ({ action: 'a', target: 'b c' })), { action: 'a b', target: 'c' }],
      { whole: 61, rows: 1 },
    ],
    [
      'quotes in parts',
      [...many(100, () => ({ action: 'a","b', target: 'c' })), { action: 'a', target: 'b","c' }],
      { whole: 61, rows: 1 },
    ],
    [
      'targets that differ in case',
      many(200, (n) => ({ target: n % 2 ? 'Acme/Site' : 'acme/site' })),
      { whole: 60, rows: 1, distinct: 2 },
    ],
    [
      'targets of many scripts',
      many(200, (n) => ({ target: `пример-${n % 3}-例え-🙂` })),
      { whole: 60, rows: 1, distinct: 3 },
    ],
    [
      'composed and decomposed letters',
      many(200, (n) => ({ target: n % 2 ? '\u00e9' : 'e\u0301' })),
      { whole: 60, rows: 1, distinct: 2 },
    ],
    ['lone surrogates', many(200, () => ({ target: '\ud800' })), { whole: 60, rows: 1, distinct: 1 }],
    ['NUL', many(200, () => ({ target: 'a\0b' })), { whole: 60, rows: 1, distinct: 1 }],
    [
      'bidirectional controls',
      many(200, () => ({ target: '\u202egnp.exe' })),
      { whole: 60, rows: 1, distinct: 1 },
    ],
    ['line breaks', many(200, () => ({ target: 'a\r\n1,240 refusals' })), { whole: 60, rows: 1 }],
    [
      'names of members',
      many(200, (n) => ({ target: ['__proto__', 'constructor', 'toString'][n % 3] ?? '' })),
      { whole: 60, rows: 1, distinct: 3 },
    ],
    [
      'reasons that are names of members',
      many(200, () => ({ reason: 'constructor', target: 'x' })).map((s) => ({ ...s, reason: 'permission' })),
      { whole: 60, rows: 1 },
    ],
    [
      '1 MiB targets of a kind',
      many(80, () => ({ target: 'x'.repeat(1 << 20) })),
      { whole: 60, rows: 1, distinct: 1 },
    ],
    [
      '1 MiB targets that differ at their end',
      many(700, (n) => ({ target: `${'x'.repeat(1 << 16)}${n}` })),
      { whole: 599, rows: 1, distinct: 101 },
    ],
    [
      'a surrogate pair at the cut',
      many(200, () => ({ target: `${'x'.repeat(199)}🙂` })),
      { whole: 60, rows: 1 },
    ],
    [
      'the wall clock goes back an hour',
      many(200, (n) => ({ atMs: n, wallMs: n < 100 ? 0 : -3_600_000 })),
      { whole: 60, rows: 1 },
    ],
    [
      'the wall clock leaps over minutes',
      many(200, (n) => ({ atMs: n, wallMs: n * 60_000 })),
      { whole: 60, rows: 1 },
    ],
    [
      'the wall clock swings',
      many(200, (n) => ({ atMs: n, wallMs: n % 2 ? 61_000 : -61_000 })),
      { whole: 60, rows: 1 },
    ],
    ['a minute of the wall clock begins', many(200, (n) => ({ atMs: n * 290 })), { whole: 60, rows: 1 }],
    ['two windows', many(200, (n) => ({ atMs: n < 100 ? 0 : 60_000 })), { whole: 120, rows: 2 }],
    [
      'one millisecond before the next window',
      many(200, (n) => ({ atMs: n < 100 ? 0 : 59_999 })),
      { whole: 60, rows: 1 },
    ],
    ['ten windows', many(1_000, (n) => ({ atMs: Math.floor(n / 100) * 60_000 })), { whole: 600, rows: 10 }],
    ['a silent hour between', many(200, (n) => ({ atMs: n < 100 ? 0 : 3_600_000 })), { whole: 120, rows: 2 }],
    ['other agents have their own', many(400, (n) => ({ agent: `bot${n % 4}` })), { whole: 240, rows: 4 }],
    [
      'nobody is an agent like any other',
      many(200, (n) => ({ agent: n % 2 ? '' : 'bot' })),
      { whole: 120, rows: 2 },
    ],
    [
      'agents whose names are alike',
      many(300, (n) => ({ agent: ['bot', 'Bot', 'bot '][n % 3] ?? '' })),
      { whole: 180, rows: 3 },
    ],
    [
      'rate limits and denials together',
      many(1_000, (n) => ({ reason: n % 2 ? 'rate_limit' : 'permission' })),
      { whole: 60, rows: 1 },
    ],
    ['slow enough', many(600, (n) => ({ atMs: n * 1_001 })), { whole: 600, rows: 0 }],
  ])('%s', (_name, refusals, expected) => {
    const { whole, rows } = send(refusals)
    expect({ whole, rows: rows.length }).toEqual({ whole: expected.whole, rows: expected.rows })
    for (const { targets } of rows) {
      expect(targets.length).toBeLessThanOrEqual(32)
      for (const target of targets) {
        expect(target.length).toBeLessThanOrEqual(201)
        expect(target.isWellFormed()).toBe(true)
        expect(target).not.toContain('\0')
      }
    }
    if (expected.distinct !== undefined) expect(rows[0]?.distinct_targets).toBe(expected.distinct)
    if (expected.more !== undefined) expect(rows[0]?.more_targets).toBe(expected.more)
  })

  test('names the first 32 targets, each once, in their order', () => {
    const { rows } = send(many(3_000, (n) => ({ target: `t${n % 700}` })))
    expect(rows[0]?.targets).toEqual(many(32, (n) => ({ target: `t${599 + n}` })).map(({ target }) => target))
  })

  test('all agents together remember a bounded number of targets', () => {
    const flood = many(60, (agent) => ({ agent: `bot${agent}` })).flatMap(({ agent }) =>
      many(10_599, (n) => ({ agent: agent ?? '', target: `t${n}` })),
    )
    const { rows } = send(flood)
    expect(rows.reduce((sum, { distinct_targets }) => sum + distinct_targets, 0)).toBe(500_000)
    expect(rows.at(-1)).toMatchObject({ count: 10_000, distinct_targets: 0, more_targets: true })
  })
})

describe('the words of a row', () => {
  const at = { first: '2026-03-01T00:00:00.000Z', last: '2026-03-01T00:00:59.000Z' }
  test.each([
    [
      { count: 1_240, distinct_targets: 87, more_targets: false },
      '1,240 refusals from 2026-03-01T00:00:00.000Z to 2026-03-01T00:00:59.000Z, 87 targets',
    ],
    [
      { count: 1, distinct_targets: 1, more_targets: false },
      '1 refusal from 2026-03-01T00:00:00.000Z to 2026-03-01T00:00:59.000Z, 1 target',
    ],
    [
      { count: 20_000, distinct_targets: 10_000, more_targets: true },
      '20,000 refusals from 2026-03-01T00:00:00.000Z to 2026-03-01T00:00:59.000Z, 10,000 or more targets',
    ],
  ])('%o', (tally, text) => {
    expect(refusalsText({ ...at, ...tally })).toBe(text)
  })
})
