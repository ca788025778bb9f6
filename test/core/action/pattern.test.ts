import { describe, expect, test } from 'vitest'
import {
  comparePatterns,
  matchesPattern,
  parsePattern,
  unmappedConnector,
} from '../../../core/action/pattern.ts'
import fc from '../../support/fast-check.ts'

const segment = fc.constantFrom('codehost', 'pr', 'merge', 'Create_x', 'unmapped', 'post')
const name = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.'))
const pattern = fc.oneof(
  name,
  name.map((text) => `${text}.*`),
  name.map((text) => `${text.slice(0, -1)}*`),
  fc.constant('*'),
)

describe('patterns', () => {
  test('are ordered totally: antisymmetric, transitive, and equal only to themselves', () => {
    fc.assert(
      fc.property(pattern, pattern, pattern, (a, b, c) => {
        const [pa, pb, pc] = [parsePattern(a), parsePattern(b), parsePattern(c)]
        expect(Math.sign(comparePatterns(pa, pb))).toBe(-Math.sign(comparePatterns(pb, pa)) + 0)
        expect(comparePatterns(pa, pb) === 0).toBe(a === b)
        if (comparePatterns(pa, pb) <= 0 && comparePatterns(pb, pc) <= 0) {
          expect(comparePatterns(pa, pc)).toBeLessThanOrEqual(0)
        }
      }),
    )
  })

  test('put an exact name before any wildcard and a longer prefix before a shorter one', () => {
    const texts = ['*', 'mcp.tools.create_*', 'mcp.*', 'mcp.tools.create_issue', 'mcp.tools.*']
    const sorted = texts.map(parsePattern).sort(comparePatterns)
    expect(sorted.map(({ text }) => text)).toEqual([
      'mcp.tools.create_issue',
      'mcp.tools.create_*',
      'mcp.tools.*',
      'mcp.*',
      '*',
    ])
  })

  test('allow patterns compare exactly, deny and require_approval patterns ignore case', () => {
    const deny = parsePattern('mcp.tools.delete_*')
    expect(matchesPattern(deny, 'mcp.tools.DELETE_repo', 'tighten')).toBe(true)
    expect(matchesPattern(deny, 'mcp.tools.DELETE_repo', 'allow')).toBe(false)
  })

  test('a wildcard covers the names after its dot and no sibling', () => {
    const pr = parsePattern('codehost.pr.*')
    expect(matchesPattern(pr, 'codehost.pr.merge', 'allow')).toBe(true)
    expect(matchesPattern(pr, 'codehost.pr', 'allow')).toBe(false)
    expect(matchesPattern(pr, 'codehost.prs.merge', 'allow')).toBe(false)
  })

  test.each([
    ['codehost.*', true],
    ['codehost.unmapped.*', true],
    ['codehost.unmapped.post', true],
    ['*', false],
    ['codehost.un*', false],
    ['codehost.unmapped.p*', false],
    ['code*', false],
  ])('the allow pattern %s covers an unmapped request: %s', (text, wanted) => {
    expect(matchesPattern(parsePattern(text), 'codehost.unmapped.post', 'allow')).toBe(wanted)
  })

  test.each([
    '*',
    'm*',
    'mcp*',
    'mcp.*',
    'mcp.r*',
    'mcp.rpc.*',
    'mcp.rpc.u*',
    'mcp.rpc.unknown*',
    'MCP.rpc.unknown',
  ])('the allow pattern %s does not cover a message that cannot be read; one that tightens does', (text) => {
    expect(matchesPattern(parsePattern(text), 'mcp.rpc.unknown', 'allow')).toBe(false)
    expect(matchesPattern(parsePattern(text), 'mcp.rpc.unknown', 'tighten')).toBe(true)
  })

  test('its exact name covers it', () => {
    expect(matchesPattern(parsePattern('mcp.rpc.unknown'), 'mcp.rpc.unknown', 'allow')).toBe(true)
    for (const type of ['mcp.rpc.unknown_x', 'mcp.rpc.unknown.x', 'mcp.tools.unknown', 'other.rpc.unknown'])
      expect(matchesPattern(parsePattern('*'), type, 'allow')).toBe(true)
  })

  test('every pattern that tightens covers an unmapped request by its text', () => {
    for (const text of ['*', 'codehost.un*', 'codehost.*']) {
      expect(matchesPattern(parsePattern(text), 'codehost.unmapped.post', 'tighten')).toBe(true)
    }
  })

  test('only <connector>.unmapped.<method> counts as unmapped', () => {
    expect(unmappedConnector('codehost.unmapped.post')).toBe('codehost')
    expect(unmappedConnector('codehost.unmapped')).toBeNull()
    expect(unmappedConnector('mcp.tools.unmapped.x')).toBeNull()
  })
})
