import { describe, expect, test } from 'vitest'
import { decide } from '../../../../core/decision/decide.ts'
import { requestFacts } from '../../../../core/decision/facts/request-facts.ts'
import { UNKNOWN } from '../../../../core/decision/facts/unknown-value.ts'
import { isRefusal } from '../../../../core/request/canonical.ts'
import { canonicalise } from '../../../../core/request/canonicalise.ts'
import { inputOf, rulesOf } from '../fixtures.ts'

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

/** Spellings of one path that all servers read alike: characters that some clients encode and others do not. */
const SPELLINGS = ['/@admin/all:users', '/%40admin/all:users', '/@admin/all%3Ausers', '/%40admin/all%3ausers']

/** Spellings of `/admin/users` with encodings that no client needs. */
const NEEDLESS = ['/%61dmin/users', '/a%64min/%75sers', '/%61%64%6D%69%6e/users', '/admin/user%73']

describe('the path of a request in conditions', () => {
  test.each([
    'request.path == "/@admin/all:users"',
    'request.path.startsWith("/@admin/")',
    'request.path.endsWith(":users")',
    'request.path.contains("@admin")',
    'request.path.matches("^/@admin/[a-z:]+$")',
    'request["path"] in ["/x", "/@admin/all:users"]',
    '!(request.path != "/@admin/all:users")',
  ])('%s is true of every percent-encoded spelling', (condition) => {
    for (const target of SPELLINGS) expect(verdict(condition, target), target).toBe('deny')
    expect(verdict(condition, '/other/things')).toBe('allow')
  })

  test('an encoded percent sign stays, so that it begins no escape', () => {
    expect(factsOf('/100%25/x').path).toBe('/100%25/x')
    expect(factsOf('/100%25/%40').path).toBe('/100%25/@')
    expect(factsOf('/100%2561').path).toBe('/100%2561')
  })

  test.each([
    'request.path == "/other"',
    'request.path.startsWith("/admin/")',
    'has(request.path) && request.path.startsWith("/admin/")',
    'request.segments[0] == "admin"',
    '"admin" in request.segments',
  ])(
    '%s tightens where servers read the path differently, because of an encoded slash, a semicolon or a needless encoding',
    (condition) => {
      for (const target of ['/admin%2Fusers', '/admin%2fusers', '/admin;x/users', ...NEEDLESS])
        expect(verdict(condition, target), target).toBe('deny')
      expect(verdict('request.raw_path == "/admin%2Fusers"', '/admin%2Fusers')).toBe('deny')
      expect(verdict('request.raw_path == "/x"', '/admin%2Fusers')).toBe('allow')
    },
  )

  test('the encoding of each unreserved character of RFC 3986, and of no other, is needless', () => {
    const isUnreserved = (character: string) => /^[A-Za-z0-9._~-]$/.test(character)
    for (let code = 0x21; code < 0x7f; code++) {
      const character = String.fromCharCode(code)
      const hex = code.toString(16)
      if ('%/;\\'.includes(character)) continue
      for (const encoded of [`%${hex}`, `%${hex.toUpperCase()}`]) {
        const { path, segments } = factsOf(`/ab${encoded}`)
        const wanted = isUnreserved(character) ? UNKNOWN : `/ab${character}`
        expect(path, encoded).toBe(wanted)
        expect(segments === UNKNOWN, encoded).toBe(isUnreserved(character))
      }
    }
  })

  test.each(['/admin%2Fusers', '/%61dmin/users'])('the address %s is unknown as a target, too', (target) => {
    const resource = { provider: 'generic', target: `api.example.com${target}` }
    const base = inputOf({ type: 'generic.get', connector: 'generic' })
    const input = {
      ...base,
      request: factsOf(target),
      action: { ...base.action, connector: 'generic', resource },
    }
    const condition = 'has(resource.target) && resource.target.startsWith("api.example.com/admin/")'
    expect(decide(rulesWith(condition), input).verdict).toBe('deny')
    expect(decide(rulesWith('resource.raw_target == "x"'), input).verdict).toBe('allow')
  })

  test('request.segments are its decoded segments', () => {
    expect(factsOf('/%40dmin/users').segments).toEqual(['@dmin', 'users'])
    expect(factsOf('/').segments).toEqual([])
    expect(verdict('request.segments.size() == 2 && request.segments[1] == "users:"', '/a/users%3A')).toBe(
      'deny',
    )
  })

  test('the query is no part of it, a slash at the end is', () => {
    expect(factsOf('/a%3A?c=%64').path).toBe('/a:')
    expect(factsOf('/a%3A/').path).toBe('/a:/')
    expect(factsOf('/').path).toBe('/')
    expect(factsOf('/caf%C3%A9').path).toBe('/caf\u00e9')
  })

  test.each(['generic', 'codehost'])(
    'the target of an unmapped request of %s is decoded as well',
    (connector) => {
      const condition = 'resource.target.startsWith("api.example.com/@admin/")'
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
    expect(factsOf('/%61dmin/users')).toMatchObject({ path: UNKNOWN, raw_path: '/%61dmin/users' })
    expect(factsOf('/%40dmin')).toMatchObject({ path: '/@dmin', raw_path: '/%40dmin' })
    expect(verdict('request.raw_path == "/%61dmin"', '/%61dmin')).toBe('deny')
  })

  test.each([
    'request.path == "/a%20b"',
    'request.path.startsWith("/%61dmin")',
    'request.path in ["/x", "/a%C3%A9"]',
    'request.path.contains("%3a")',
    'request.path.matches("^/a%20")',
    'request.path == "/a%2fb"',
    'request.path == "/a%2Fb"',
    'request.segments[0] == "a%20b"',
  ])('%s can never match, and does not compile', (condition) => {
    expect(compileErrorOf(condition)).toMatch(/request\.(?:path|segments) .*request\.raw_path/)
  })

  test.each(['request.path == "/100%25"', 'request.path.contains("100%")'])('%s compiles', (condition) =>
    expect(compileErrorOf(condition)).toBe('compiled'),
  )
})
