import { hash as digest } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { RefusalsSchema } from '../../../core/record.ts'
import { createRefusalWindows, type Refusal, type RefusalRow } from '../../../core/state/refusal-windows.ts'

const sha256 = (text: string) => Number.parseInt(digest('sha256', text).slice(0, 13), 16)
const START_MS = Date.parse('2026-03-01T00:00:30.000Z')

type Sent = Partial<Refusal> & { readonly agent?: string; readonly atMs?: number; readonly wallMs?: number }

/** Sends refusals through windows; counts what got a record of its own, and the rows. */
function send(refusals: Iterable<Sent>, hash = sha256) {
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
    const filled = { action: 'a.b', target: 't', rule: 'r', reason: 'permission', isJudged: true, ...refusal }
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
  return { whole, rows: ended.map(({ tally }) => tally) }
}

const many = (count: number, of: (n: number) => Sent): Sent[] =>
  Array.from({ length: count }, (_, n) => of(n))

test.each([1, 2, 3, 7, 60, 300])(
  '%i processes of one agent keep to 600 rows in a minute together',
  (processes) => {
    let rows = 0
    for (let process = 0; process < processes; process++) {
      const windows = createRefusalWindows<number>({
        hash: sha256,
        open: () => rows++,
        onEnd: () => {},
        processesOf: () => processes,
      })
      const at = { nowMs: 0, time: new Date(START_MS).toISOString() }
      for (let n = 0; n < 1_200 / processes + 10; n++) {
        const refusal = { action: `a${n % 40}.${n}`, target: `t${n}`, rule: 'r', reason: 'permission' }
        for (const isJudged of [true, false])
          if (windows.admit('bot', { ...refusal, isJudged }, at) === null) rows++
      }
      windows.close()
    }
    expect(rows).toBeLessThanOrEqual(600)
    expect(rows).toBeGreaterThanOrEqual(Math.min(2 * processes, 600))
    if (processes < 4) expect(rows).toBeGreaterThan(590)
  },
)

describe('refusals of one agent in one minute', () => {
  test.each<[string, Sent[], { whole: number; rows: number; distinct?: number; more?: boolean }]>([
    ['sixty of a kind', many(60, () => ({})), { whole: 60, rows: 0 }],
    ['sixty-one of a kind', many(61, () => ({})), { whole: 60, rows: 1, distinct: 1 }],
    ['20,000 of a kind', many(20_000, () => ({})), { whole: 60, rows: 1, distinct: 1 }],
    [
      'target of each its own',
      many(20_000, (n) => ({ target: `t${n}` })),
      { whole: 399, rows: 1, distinct: 10_000, more: true },
    ],
    [
      'target of each its own, 5,000 of them',
      many(5_399, (n) => ({ target: `t${n}` })),
      { whole: 399, rows: 1, distinct: 5_000, more: false },
    ],
    [
      'action of each its own',
      many(5_000, (n) => ({ action: `a.${n}` })),
      { whole: 424, rows: 1, distinct: 1 },
    ],
    ['rule of each its own', many(5_000, (n) => ({ rule: `r${n}` })), { whole: 399, rows: 1 }],
    ['reason of each its own', many(700, (n) => ({ reason: `reason${n}` })), { whole: 399, rows: 1 }],
    [
      'all of each its own',
      many(5_000, (n) => ({ action: `${n}`, target: `${n}`, rule: `${n}` })),
      { whole: 499, rows: 1 },
    ],
    [
      'two kinds in turns',
      many(10_000, (n) => ({ target: `t${n % 2}` })),
      { whole: 60, rows: 1, distinct: 2 },
    ],
    [
      '600 kinds in turns',
      many(6_000, (n) => ({ target: `t${n % 600}` })),
      { whole: 399, rows: 1, distinct: 600 },
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
      { whole: 399, rows: 1, distinct: 301 },
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
    [
      'rate limits that nothing judged, and denials',
      many(1_000, (n) => ({ isJudged: n % 2 === 0 })),
      { whole: 120, rows: 2 },
    ],
    [
      'what nothing judged',
      many(1_000, (n) => ({ isJudged: false, target: `${n}` })),
      { whole: 99, rows: 1 },
    ],
    [
      'hosts that are unknown',
      many(1_000, (n) => ({ action: null, target: `${n}` })),
      { whole: 299, rows: 1 },
    ],
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
    expect({ whole: whole.length, rows: rows.length }).toEqual({ whole: expected.whole, rows: expected.rows })
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
    expect(rows[0]?.targets).toEqual(many(32, (n) => ({ target: `t${399 + n}` })).map(({ target }) => target))
  })

  // Only more refusals than the bound of 500,000 reach it. The number of a target is its hash, because SHA-256 takes 3 s.
  test('all agents together remember a bounded number of targets', () => {
    function* flood(): Generator<Sent> {
      for (let agent = 0; agent < 51; agent++)
        for (let n = 0; n < 10_399; n++) yield { agent: `bot${agent}`, target: `t${n}` }
    }
    const hash = (text: string) => Number(/t(\d+)/.exec(text)?.[1] ?? -1)
    const { rows } = send(flood(), hash)
    expect(rows.reduce((sum, { distinct_targets }) => sum + distinct_targets, 0)).toBe(500_000)
    expect(rows.at(-1)).toMatchObject({ count: 10_000, distinct_targets: 0, more_targets: true })
  })
})

const MERGE: Sent = { action: 'codehost.pr.merge', target: 'acme/site' }

describe('a denied action after a flood of one agent', () => {
  const unjudged = (of: (n: number) => Sent) =>
    many(2_000, (n) => ({ isJudged: false, action: null, ...of(n) }))
  const unnamed = (of: (n: number) => Sent) =>
    many(2_000, (n) => ({ action: null, reason: 'unknown_host', ...of(n) }))
  test.each<[string, Sent[]]>([
    ['malformed requests', unjudged(() => ({ reason: 'ambiguous' }))],
    ['malformed requests to hosts of each their own', unjudged((n) => ({ target: `h${n}.example` }))],
    ['malformed requests with errors of each their own', unjudged((n) => ({ rule: `e${n}` }))],
    ['requests beyond the rate', unjudged((n) => ({ reason: 'rate_limit', target: `h${n}` }))],
    ['keys that are wrong', unjudged((n) => ({ reason: 'agent', target: `h${n}` }))],
    ['requests that it abandons', unjudged((n) => ({ reason: 'left', target: `h${n}` }))],
    ['requests while nothing is ready', unjudged((n) => ({ reason: 'not_ready', target: `h${n}` }))],
    ['actions that nothing judged', unjudged((n) => ({ action: `codehost.a${n}`, target: `h${n}` }))],
    ['the same action where nothing judged it', unjudged(() => ({ ...MERGE, reason: 'rate_limit' }))],
    ['hosts that are unknown', unnamed((n) => ({ target: `h${n}.example` }))],
    ['one unknown host', unnamed(() => ({ target: 'h.example' }))],
    ['another action', many(2_000, () => ({ action: 'codehost.issue.get' }))],
    [
      'another action on targets of each their own',
      many(2_000, (n) => ({ action: 'codehost.issue.get', target: `${n}` })),
    ],
    ['a hundred other actions', many(2_000, (n) => ({ action: `codehost.a${n % 20}`, target: `${n}` }))],
    ['tools with invented names', many(2_000, (n) => ({ action: `mcp.tools.t${n}`, target: `${n}` }))],
    ['tools with invented names at one target', many(2_000, (n) => ({ action: `mcp.tools.t${n}` }))],
    [
      'all of them in turns',
      many(
        4_000,
        (n) =>
          [
            { isJudged: false, action: null, target: `${n}` },
            { action: null, reason: 'unknown_host', target: `${n}` },
            { action: `mcp.tools.t${n}`, target: `${n}` },
            { action: 'codehost.issue.get', target: `${n}` },
          ][n % 4] ?? {},
      ),
    ],
  ])('has a record of its own and a count after %s', (_name, flood) => {
    const once = send([...flood, MERGE])
    expect(once.whole.at(-1)).toBe(MERGE)
    expect(once.whole.length + once.rows.length).toBeLessThanOrEqual(600)
    const often = send([...flood, ...many(300, () => MERGE), ...flood])
    const row = often.rows.find(({ actions }) => Object.hasOwn(actions, 'codehost.pr.merge'))
    const isFirst = often.whole.filter((sent) => sent === MERGE).length
    expect(isFirst).toBeGreaterThan(0)
    expect(often.whole.length + often.rows.length).toBeLessThanOrEqual(600)
    expect(row?.reasons['permission']).toBeGreaterThan(0)
  })

  test('is listed among the targets of its row after any malformed requests', () => {
    const { rows } = send([
      ...unjudged((n) => ({ target: `h${n}` })),
      ...many(70, () => ({})),
      ...many(70, () => MERGE),
    ])
    expect(rows).toHaveLength(2)
    expect(rows.find(({ actions }) => Object.hasOwn(actions, 'codehost.pr.merge'))?.targets).toContain(
      'acme/site',
    )
  })

  test('is counted separately from invented names, whose count is bounded', () => {
    const { rows } = send([
      ...many(5_000, (n) => ({ action: `mcp.tools.t${n}` })),
      ...many(5_000, (n) => ({ action: `${n}` })),
      ...many(9, () => MERGE),
    ])
    const { actions = {}, count } = rows[0] ?? {}
    expect(Object.keys(actions).length).toBeLessThanOrEqual(130)
    expect(Object.values(actions).reduce((a, b) => a + b, 0)).toBe(count)
    expect(actions['mcp.*']).toBeGreaterThan(4_000)
  })

  test.each([
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '',
    '.',
    '*',
    'mcp.*',
    '\0',
    '\ud800',
  ])('an action called %j is counted like any other', (action) => {
    const { rows } = send(many(100, () => ({ action })))
    expect(Object.values(rows[0]?.actions ?? {})).toEqual([40])
  })
})
