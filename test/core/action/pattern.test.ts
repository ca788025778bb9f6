import { describe, expect, test } from 'vitest'
import { matchesPattern, parsePattern, unmappedConnector } from '../../../core/action/pattern.ts'

describe('patterns', () => {
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
