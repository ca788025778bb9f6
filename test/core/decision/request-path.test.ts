import { describe, expect, test } from 'vitest'
import { decide } from '../../../core/decision/decide.ts'
import { requestFacts } from '../../../core/decision/request-facts.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import { inputOf, rulesOf } from './fixtures.ts'

function factsOf(target: string) {
  const request = canonicalise({
    method: 'GET',
    target,
    rawHeaders: ['Host', 'api.example.com'],
    httpVersion: '1.1',
    scheme: 'https',
    sources: {},
  })
  if (isRefusal(request)) throw new Error(`${target}: ${request.detail}`)
  return requestFacts(request)
}

const ALLOWED = [{ id: 'perm_1', connector_type: '*', action_pattern: '*', decision: 'allow' as const }]

function rulesWith(condition: string) {
  const yaml = `rules:\n  - name: r\n    conditions: [${JSON.stringify(condition)}]\n    decision: deny\n`
  return rulesOf({
    level: 'full_enforce',
    default: 'allow',
    permissions: ALLOWED,
    policies: [{ id: 'pol_1', yaml }],
  })
}

function verdict(condition: string, target: string) {
  return decide(rulesWith(condition), { ...inputOf({ type: 'generic.get' }), request: factsOf(target) })
    .verdict
}

function compileErrorOf(condition: string): string {
  try {
    verdict(condition, '/')
  } catch (error) {
    return (error as Error).message
  }
  return 'compiled'
}

const SPELLINGS = [
  '/admin/users',
  '/%61dmin/users',
  '/a%64min/%75sers',
  '/%61%64%6D%69%6e/users',
  '/admin/user%73',
]

describe('the path of a request in conditions', () => {
  test.each([
    'request.path == "/admin/users"',
    'request.path.startsWith("/admin/")',
    'request.path.endsWith("/users")',
    'request.path.contains("admin")',
    'request.path.matches("^/admin/[a-z]+$")',
    'request["path"] in ["/x", "/admin/users"]',
    '!(request.path != "/admin/users")',
  ])('%s is true of every percent-encoded spelling', (condition) => {
    for (const target of SPELLINGS) expect(verdict(condition, target), target).toBe('deny')
    expect(verdict(condition, '/other/things')).toBe('allow')
  })

  test('an encoded slash and an encoded percent sign stay, so that they are no part of the structure', () => {
    expect(factsOf('/a%2fb/c').path).toBe('/a%2Fb/c')
    expect(factsOf('/100%25/x').path).toBe('/100%25/x')
    expect(factsOf('/100%25/%78').path).toBe('/100%25/x')
    expect(verdict('request.path == "/a/b/c"', '/a%2Fb/c')).toBe('allow')
    expect(verdict('request.path.startsWith("/a%2Fb/")', '/a%2fb/c')).toBe('deny')
  })

  test('the query is no part of it, a slash at the end is', () => {
    expect(factsOf('/a%62?c=%64').path).toBe('/ab')
    expect(factsOf('/a%62/').path).toBe('/ab/')
    expect(factsOf('/').path).toBe('/')
    expect(factsOf('/caf%C3%A9').path).toBe('/caf\u00e9')
  })

  test.each(['generic', 'codehost'])(
    'the target of an unmapped request of %s is decoded as well',
    (connector) => {
      const condition = 'resource.target.startsWith("api.example.com/admin/")'
      for (const target of SPELLINGS) {
        const resource = { provider: connector, target: `api.example.com${target}` }
        const base = inputOf({ type: `${connector}.unmapped.get`, connector })
        const input = { ...base, request: factsOf(target), action: { ...base.action, connector, resource } }
        expect(decide(rulesWith(condition), input).verdict, target).toBe('deny')
      }
      expect(compileErrorOf('resource.target == "api.example.com/a%20b"')).toContain('resource.raw_target')
    },
  )

  test('raw_path is the path as sent', () => {
    expect(factsOf('/%61dmin/users')).toMatchObject({ path: '/admin/users', raw_path: '/%61dmin/users' })
    expect(verdict('request.raw_path == "/%61dmin"', '/%61dmin')).toBe('deny')
  })

  test.each([
    'request.path == "/a%20b"',
    'request.path.startsWith("/%61dmin")',
    'request.path in ["/x", "/a%C3%A9"]',
    'request.path.contains("%3a")',
    'request.path.matches("^/a%20")',
    'request.path == "/a%2fb"',
  ])('%s can never match, and does not compile', (condition) => {
    expect(compileErrorOf(condition)).toMatch(/request\.path is decoded.*request\.raw_path/)
  })

  test.each(['request.path == "/a%2Fb"', 'request.path == "/100%25"', 'request.path.contains("100%")'])(
    '%s compiles',
    (condition) => expect(compileErrorOf(condition)).toBe('compiled'),
  )
})
