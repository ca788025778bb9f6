import { describe, expect, test } from 'vitest'
import { ownerOfName } from '../../../core/capture/host-names.ts'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { decideUnowned } from '../../../core/decision/egress.ts'
import { snapshotOf } from '../../sidecar/pipeline/test-world.ts'

const snapshotWith = (...allowedHosts: string[]) =>
  snapshotOf({ gateway: { egress: { allowedHosts } } }, 1, 1)
const decide = (entry: string, host: string, port: number) => decideUnowned(snapshotWith(entry), host, port)

describe('an entry of allowedHosts', () => {
  test.each([
    ['api.example.com', 'api.example.com', 443],
    ['API.Example.com', 'api.example.com', 443],
    ['api.example.com:8443', 'api.example.com', 8443],
    ['api.example.com:443', 'api.example.com', 443],
    ['*.example.com', 'a.example.com', 443],
    ['*.example.com:8443', 'a.b.example.com', 8443],
    ['[::1]', '::1', 443],
    ['[::1]:8443', '::1', 8443],
    ['::1', '::1', 443],
    ['2001:db8::8443', '2001:db8::8443', 443],
    ['10.0.0.1:22', '10.0.0.1', 22],
  ])('%s lets %s:%i through', (entry, host, port) => {
    expect(GatewaySpec.safeParse({ egress: { allowedHosts: [entry] } }).success).toBe(true)
    expect(decide(entry, host, port)).toMatchObject({ verdict: 'allow' })
    expect(ownerOfName(snapshotWith(entry), host)).toBe('governed')
  })

  test.each([
    ['api.example.com', 'api.example.com', 8443],
    ['api.example.com', 'api.example.com', 80],
    ['api.example.com', 'api.example.com', 22],
    ['api.example.com:8443', 'api.example.com', 443],
    ['api.example.com:8443', 'api.example.com', 844],
    ['*.example.com:8443', 'a.example.com', 443],
    ['*.example.com', 'example.com', 443],
    ['*.example.com', 'evilexample.com', 443],
    ['[::1]:8443', '::1', 443],
    ['[::1]', '::1', 8443],
    ['::1:8443', '::1', 8443],
    ['2001:db8::1:443', '2001:db8::1', 443],
    ['api.example.com', 'api.example.com.evil.example', 443],
  ])('%s does not cover %s:%i', (entry, host, port) => {
    expect(decide(entry, host, port)).toMatchObject({ verdict: 'deny' })
  })

  test.each(['a:0', 'a:', 'a:x', 'a:123456', '[::1', '[::1]:', 'a b', '*:443', 'https://a', 'a/b', ''])(
    '%j is refused',
    (entry) => expect(GatewaySpec.safeParse({ egress: { allowedHosts: [entry] } }).success).toBe(false),
  )
})

test('a refusal names the entry that is missing', () => {
  expect(decide('a.example', 'b.example', 443).reason).toContain('list b.example in egress.allowedHosts')
  expect(decide('a.example', 'b.example', 22).reason).toContain('list b.example:22 in egress.allowedHosts')
  expect(decide('a.example', '::1', 22).reason).toContain('list [::1]:22 in')
  expect(decide('a.example', 'a.example', 8443).reason).toContain(
    'lists a.example for port 443 only: list a.example:8443',
  )
})

test.each([
  ['telemetry.crewai.com', 4319, /CrewAI reports telemetry there, and works without this host/],
  ['ab.chatgpt.com', 443, /Codex reports metrics there/],
  ['chatgpt.com', 443, /With an API key, Codex works without this host/],
  ['play.googleapis.com', 443, /Gemini CLI reports its usage there/],
  ['models.opencode.ai', 443, /OpenCode looks up its list of models there/],
] as const)(
  '%s is refused with the purpose that agent programs use it for, and without advice to add it',
  (host, port, text) => {
    const decision = decideUnowned(snapshotWith(), host, port)
    expect(decision).toMatchObject({ verdict: 'deny', reason: expect.stringMatching(text) })
    expect(decision.reason).toContain(`No connector owns ${host}:${port}.`)
    expect(decision.reason).not.toContain('egress.allowedHosts')
    const listed = port === 443 ? host : `${host}:${port}`
    expect(decideUnowned(snapshotWith(listed), host, port).verdict).toBe('allow')
  },
)

test.each(['x.chatgpt.com', 'chatgpt.com.evil.test', 'evilchatgpt.com', 'constructor', '__proto__', ''])(
  'the host %j is not a known host',
  (host) => {
    expect(decideUnowned(snapshotWith(), host, 443).reason).toContain('egress.allowedHosts')
  },
)
