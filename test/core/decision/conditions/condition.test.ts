import { describe, expect, test } from 'vitest'
import { scoreRisk } from '../../../../core/action/risk.ts'
import { compileCondition, epochMsOf } from '../../../../core/decision/conditions/condition.ts'
import { placedInputs } from '../../../../core/decision/facts/environment.ts'
import { createFacts } from '../../../../core/decision/facts/facts.ts'
import fc from '../../../support/fast-check.ts'
import { inputOf } from '../fixtures.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

function evaluate(text: string, parameters: Record<string, unknown> = {}, rest = {}): unknown {
  const input = inputOf({ type: 'codehost.pr.merge', parameters, ...rest }, { nowMs: NOW })
  const [placed] = placedInputs(input)
  if (placed === undefined) throw new Error('no input')
  const facts = createFacts(placed, scoreRisk(input.action))
  return compileCondition(text, { rule: 'r', index: 0 }).evaluate(facts)
}

function compileErrorOf(text: string): string {
  try {
    compileCondition(text, { rule: 'my-rule', index: 2 })
  } catch (error) {
    return (error as Error).message
  }
  return 'compiled'
}

describe('conditions', () => {
  test.each([
    ['parameters.n > 1000', { n: 1001 }, true],
    ['parameters.n > 1000', { n: 1000.5 }, true],
    ['parameters.n > 1000.5', { n: 1001 }, true],
    ['parameters.n == 2', { n: 2 }, true],
    ['parameters.n == 2.0', { n: 2 }, true],
    ['parameters.n in [1, 2]', { n: 2 }, true],
    ['parameters.n * 1.5 > 2', { n: 2 }, true],
    ['2 + parameters.n > 2.4', { n: 0.5 }, true],
    ['parameters.n < 0', { n: -3 }, true],
    ['parameters.n > 9007199254740993', { n: 1e300 }, true],
    ['risk.score >= 0.5', {}, true],
    ['risk.score >= 1', {}, false],
    ['risk.score * 100 >= 50', {}, true],
  ])('int and double compare by value: %s with %j', (text, parameters, wanted) => {
    expect(evaluate(text, parameters)).toBe(wanted)
  })

  // The other forms of a condition are evaluated by CEL, those without parentheses without it.
  test.each(['method', 'host'] as const)(
    'has(request.%s) is true for every request through a gateway',
    (name) => {
      const request = { method: 'GET', host: 'a.example', path: '/', raw_path: '/', query: {} }
      const resultOf = (text: string, given: object) => {
        const [placed] = placedInputs(inputOf({ type: 'codehost.pr.merge' }, given))
        if (placed === undefined) throw new Error('no input')
        const facts = createFacts(placed, scoreRisk(placed.action))
        return compileCondition(text, { rule: 'r', index: 0 }).evaluate(facts)
      }
      for (const [given, isProxied] of [
        [{ request }, true],
        [{}, false],
      ] as const) {
        for (const [text, wanted] of [
          [`has(request.${name})`, isProxied],
          [`!has(request.${name})`, !isProxied],
          [`!!has(request.${name})`, isProxied],
          [`has(request.${name}) && true`, isProxied],
          [`has(request.${name}) == false`, !isProxied],
          ['has(request.body)', false],
        ] as const)
          expect([text, resultOf(text, given)]).toEqual([text, wanted])
      }
    },
  )

  test('whole numbers compare with int and double literals alike', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), (value, limit) => {
        expect(evaluate(`parameters.n > (${limit})`, { n: value })).toBe(value > limit)
        expect(evaluate(`parameters.n > (${limit}.0)`, { n: value })).toBe(value > limit)
        expect(evaluate(`parameters.n + 0.5 > (${limit})`, { n: value })).toBe(value + 0.5 > limit)
      }),
    )
  })

  test('known hints are false by default, others are missing', () => {
    expect(evaluate('hints.irreversible || hints.production_target || hints.financial_impact')).toBe(false)
    expect(evaluate('hints.production_target', {}, { hints: { production_target: true } })).toBe(false)
    expect(evaluate('hints.other')).toEqual({ error: 'No such key: other' })
  })

  test('a missing key is an error, has() tests for it, and an irrelevant operand does not fail', () => {
    expect(evaluate('parameters.amount > 5')).toEqual({ error: 'No such key: amount' })
    expect(evaluate('has(parameters.amount) && parameters.amount > 5')).toBe(false)
    expect(evaluate('parameters.amount > 5 || true')).toBe(true)
    expect(evaluate('resource.account == "a"')).toEqual({ error: 'No such key: account' })
    expect(evaluate('resource.environment == "DEVELOPMENT"')).toBe(true)
  })

  test('keys of parameters have no meaning of their own', () => {
    const parameters = JSON.parse('{"constructor":"a","__proto__":"b","toString":"c"}')
    expect(evaluate('parameters.constructor == "a" && parameters.toString == "c"', parameters)).toBe(true)
    expect(evaluate('parameters["__proto__"] == "b"', parameters)).toBe(true)
    expect(evaluate('has(parameters.hasOwnProperty)', parameters)).toBe(false)
  })

  test('now is the time of the decision, to the millisecond', () => {
    expect(evaluate('now == timestamp("2026-01-02T03:04:05.678Z")')).toBe(true)
    expect(evaluate('now.getHours() == 3 && now.getDayOfWeek() == 5')).toBe(true)
    expect(evaluate('now - timestamp("2026-01-02T03:00:00Z") < duration("5m")')).toBe(true)
    expect(epochMsOf('2026-01-02T03:04:05.678Z')).toBe(NOW)
  })

  test('matches() searches, with RE2 syntax', () => {
    expect(evaluate('action.type.matches("^codehost[.]pr[.]")')).toBe(true)
    expect(evaluate('action.type.matches("merge")')).toBe(true)
    expect(evaluate('action.type.matches("delete")')).toBe(false)
    expect(compileErrorOf('action.type.matches("(?=x)")')).toContain('invalid regular expression')
    expect(compileErrorOf('"x".matches("(a")')).toContain('invalid regular expression')
  })

  test('a pattern that makes backtracking engines explode takes linear time', () => {
    const text = `${'a'.repeat(60_000)}!`
    expect(evaluate('parameters.text.matches("^(a+)+$")', { text })).toBe(false)
  })

  test.each(['(?:a?){200}a{200}', '(?i)(\\\\w|\\\\W){0,500}z'])(
    'a large pattern has no value for a long text: %s',
    (pattern) => {
      const condition = `parameters.text.matches("${pattern}")`
      expect(evaluate(condition, { text: 'a'.repeat(60_000) })).toEqual({
        error: expect.stringContaining('too long'),
      })
      expect(evaluate(condition, { text: `${'a'.repeat(300)}z` })).toBe(true)
    },
  )

  test.each([
    ['a list of 65', { x: Array(65).fill(1) }],
    ['a map of 129 keys', { x: Object.fromEntries(Array.from({ length: 129 }, (_, n) => [`k${n}`, 1])) }],
    ['a text of 65,537 characters', { x: 'x'.repeat(65_537) }],
  ])('%s has no value', (_name, parameters) => {
    for (const text of ['size(parameters.x) > 0', 'parameters.x == parameters.x', 'has(parameters.x)']) {
      expect(evaluate(text, parameters)).toEqual({
        error: 'the condition reads a fact that is unknown for this request',
      })
    }
    expect(evaluate('action.type == "codehost.pr.merge"', parameters)).toBe(true)
  })

  test('a list of 64 can be searched', () => {
    expect(
      evaluate('parameters.x.exists(n, n == 64)', { x: Array.from({ length: 64 }, (_, n) => n + 1) }),
    ).toBe(true)
  })

  test('deep parameters are cut off instead of overflowing the stack', () => {
    const deep = JSON.parse(`${'{"x":'.repeat(3_000)}1${'}'.repeat(3_000)}`)
    expect(evaluate(`parameters${'.x'.repeat(10)}.y == 1`, deep)).toEqual({ error: 'No such key: y' })
    expect(evaluate(`parameters${'.x'.repeat(20)} == 1`, deep)).toEqual({
      error: 'the condition reads a fact that is unknown for this request',
    })
  })

  test('a result that is neither true nor false is an error', () => {
    expect(evaluate('parameters.n', { n: 1 })).toEqual({ error: 'the result is not a bool' })
  })
})

describe('compiling a condition', () => {
  test.each([
    ['action.type ==', 'rule "my-rule", condition 3, column 15: Unexpected token'],
    ['nope.x == 1', 'rule "my-rule", condition 3, column 1: Unknown variable: nope'],
    ['  "a" == 1', 'column 3: no such overload: string == int'],
    ['1 + 1', 'has the type int'],
    ['action.type.matches(parameters.p)', 'needs a literal pattern'],
    ['[1].all(x, [2].exists(y, y > x))', 'comprehensions, such as all() and exists(), cannot be nested'],
    ['[1].exists(x, [2].map(y, y) == [x])', 'comprehensions, such as all() and exists(), cannot be nested'],
    ['(parameters.a + parameters.a).all(x, true)', 'cannot range over a sum of lists'],
    ['parameters.a.split(",").all(x, true)', 'split() is not available'],
    ['cel.bind(x, parameters.a, x == x)', 'bind() is not available'],
    [`${'('.repeat(40)}true${')'.repeat(40)}`, 'Exceeded maxDepth'],
    [Array(200).fill('true').join(' && '), 'Exceeded maxAstNodes'],
    [`parameters.a.all(x, [${Array(60).fill('x == 1').join(', ')}].size() > 1)`, 'at most 10000 are allowed'],
    [`parameters.a in [${Array(65).fill('1').join(', ')}]`, 'Exceeded maxListElements'],
  ])('%s is refused with its place and cause', (text, wanted) => {
    expect(compileErrorOf(text)).toContain(wanted)
    expect(compileErrorOf(text)).toContain('rule "my-rule", condition 3, column')
  })

  test('comprehensions may follow one another', () => {
    expect(compileErrorOf('parameters.a.filter(x, x > 1).exists(y, y < 5)')).toBe('compiled')
  })
})
