import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createAdmit, createPrefersHttp1 } from '../../../sidecar/pipeline/admit.ts'
import { type Rules, snapshotOf } from './test-world.ts'

const key = 'svc_test_abc'
const agent = { key_sha256: createHash('sha256').update(key).digest('hex') }
const basic = (text: string) => ({
  kind: 'basic' as const,
  header: `Basic ${Buffer.from(text).toString('base64')}`,
})
const github = { host: 'api.github.com', port: 443 }

function admit(rules: Rules) {
  const snapshot = snapshotOf(rules, 1, 1)
  return createAdmit({ snapshot: () => snapshot })
}

describe('admitting a CONNECT', () => {
  it('decrypts a connector host for an agent that is known and active', () => {
    expect(admit({ agents: [agent] })(github, basic(`builder:${key}`))).toBe('intercept')
    expect(admit({ agents: [agent] })(github, { kind: 'port', agent: 'builder' })).toBe('intercept')
  })

  it.each([
    ['a host without connector', {}, { host: 'pypi.org', port: 443 }, `builder:${key}`],
    ['a port the connector does not have', {}, { host: 'api.github.com', port: 8443 }, `builder:${key}`],
    ['a wrong key', {}, github, 'builder:nope'],
    ['an unknown agent', {}, github, `other:${key}`],
    [
      'a connector whose TLS passes through',
      { connectors: [{ tlsMode: 'passthrough' as const }] },
      github,
      `builder:${key}`,
    ],
    ['a suspended agent', { agents: [{ ...agent, status: 'suspended' as const }] }, github, `builder:${key}`],
  ])('leaves %s to the pipeline, which answers', (_what, rules, target, credentials) => {
    expect(admit({ agents: [agent], ...rules })(target, basic(credentials))).toBe('pipeline')
  })

  it('leaves everything to the pipeline until there are rules', () => {
    expect(createAdmit({ snapshot: () => null })(github, { kind: 'port', agent: 'builder' })).toBe('pipeline')
  })
})

describe('the protocol of a decrypted host', () => {
  const prefers = (rules: Rules) => createPrefersHttp1({ snapshot: () => snapshotOf(rules, 1, 1) })

  it('is HTTP/1.1 on a code host, whatever the letter case: git before 2.44 hangs in uploads over HTTP/2', () => {
    expect(prefers({})('GitHub.com')).toBe(true)
    expect(prefers({})('pypi.org')).toBe(false)
  })

  it('is left to the client on hosts of other types', () => {
    const rules = { connectors: [{ type: 'generic' as const, domains: ['api.github.com', '*.example.com'] }] }
    expect(prefers(rules)('api.github.com')).toBe(false)
    expect(prefers(rules)('a.example.com')).toBe(false)
  })

  it('follows wildcards', () => {
    const rules = { connectors: [{ domains: ['*.code.example'] }] }
    expect(prefers(rules)('a.code.example')).toBe(true)
  })
})
