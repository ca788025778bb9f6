import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { at } from '../routes/start.ts'
import { startWorld, type TestAgent, type World } from './world.ts'

let world: World
let agent: TestAgent

/** Two servers of the agent's own and two code hosts; the second of each is production. */
const ENVIRONMENTS: ReadonlyArray<readonly [string, object, string]> = [
  ['generic', { domains: ['staging.example.com'] }, 'staging'],
  ['generic', { domains: ['live.example.com', '*.live.example.com'] }, 'production'],
  ['codehost', {}, 'staging'],
  ['codehost', { base_url: 'https://code.example.com' }, 'production'],
  ['mcp', { domains: ['tools-staging.example.com'] }, 'staging'],
  ['mcp', { domains: ['tools.example.com'] }, 'production'],
]

beforeAll(async () => {
  world = await startWorld()
  for (const [type, more, environment] of ENVIRONMENTS) {
    const made = await world.admin('POST', '/api/dashboard/connectors', { type, token: 'secret', ...more })
    if (made.status !== 200) throw new Error(made.text)
    await world.sql(
      "update connectors set spec = spec || jsonb_build_object('environment', $2::text) where id = $1",
      [at(made.body, 'id'), environment],
    )
  }
  for (const type of ['generic', 'codehost', 'mcp']) {
    const body = {
      gateway_name: 'default/local',
      connector_type: type,
      action_pattern: `${type}.*`,
      decision: 'allow',
    }
    const made = await world.admin('POST', '/api/dashboard/permissions', body)
    if (made.status !== 200) throw new Error(made.text)
  }
  const policy = await world.admin('POST', '/api/dashboard/policies', {
    name: 'production',
    priority: 900,
    policyYaml: `scope: { actions: ["*"] }
rules:
  - { name: production, conditions: ['has(connector.environment) && connector.environment == "production"'], decision: require_approval }
  - { name: rest, decision: allow }
`,
  })
  if (policy.status !== 200) throw new Error(policy.text)
  await world.sql('update config_version set version = version + 1')
  agent = await world.agent()
})
afterAll(() => world?.[Symbol.asyncDispose]())

async function decided(spec: { type: string; resource?: object; parameters?: object }) {
  const [provider] = spec.type.split('.')
  const action_spec = { ...spec, resource: { provider, ...spec.resource } }
  const { body, text } = await agent.call('POST', '/api/v1/actions', { action_spec })
  return { status: body['status'], reason: at<string>(body, 'decision', 'reason'), text }
}

const LIVE = 'https://live.example.com/transfer'
const STAGING = 'https://staging.example.com/transfer'

describe('v1 decides for the connector that the request goes to', () => {
  test.each([
    ['the url', { type: 'generic.post', parameters: { url: LIVE } }],
    [
      'the url in capitals',
      { type: 'generic.post', parameters: { url: 'HTTPS://LIVE.EXAMPLE.COM/transfer' } },
    ],
    [
      'the url with its port',
      { type: 'generic.post', parameters: { url: 'https://live.example.com:443/x' } },
    ],
    [
      'the url with a trailing dot',
      { type: 'generic.post', parameters: { url: 'https://live.example.com./x' } },
    ],
    ['a host of a wildcard', { type: 'generic.post', parameters: { url: 'https://a.b.live.example.com/x' } }],
    ['the target', { type: 'generic.post', resource: { target: 'live.example.com/transfer' } }],
    ['the target as an address', { type: 'generic.post', resource: { target: LIVE } }],
    [
      'the url, whatever the claim',
      { type: 'generic.post', resource: { environment: 'staging' }, parameters: { url: LIVE } },
    ],
    [
      'the url of an mcp server',
      { type: 'mcp.tools.send', parameters: { url: 'https://tools.example.com/mcp' } },
    ],
  ])('by %s', async (_what, spec) => {
    const { status, text } = await decided(spec)
    expect(status, text).toBe('pending_approval')
  })

  test.each([
    ['the url', { type: 'generic.post', parameters: { url: STAGING } }],
    ['the target', { type: 'generic.post', resource: { target: 'staging.example.com/transfer' } }],
    [
      'the url of an mcp server',
      { type: 'mcp.tools.send', parameters: { url: 'https://tools-staging.example.com/' } },
    ],
  ])('and not for another one of its type: by %s', async (_what, spec) => {
    const { status, reason, text } = await decided(spec)
    expect(status, text).toBe('allowed')
    expect(reason).not.toContain('strictest')
  })

  test.each([
    ['nothing is said', { type: 'generic.post' }],
    ['only a path is said', { type: 'generic.post', parameters: { path: '/transfer' } }],
    ['the address is none', { type: 'generic.post', parameters: { url: 'live.example.com' } }],
    ['two places differ', { type: 'generic.post', resource: { target: STAGING }, parameters: { url: LIVE } }],
    ['the host is nobody’s', { type: 'generic.post', parameters: { url: 'https://other.example.com/x' } }],
    ['the host is another type’s', { type: 'generic.post', parameters: { url: 'https://api.github.com/x' } }],
    [
      'the port is nobody’s',
      { type: 'generic.post', parameters: { url: 'https://staging.example.com:8443/x' } },
    ],
    [
      'a user stands in it',
      { type: 'generic.post', parameters: { url: 'https://staging.example.com@live.example.com/' } },
    ],
    [
      'the target fits both code hosts',
      { type: 'codehost.issue.create', resource: { target: 'acme/site' }, parameters: { title: 'x' } },
    ],
    ['parameters are missing', { type: 'codehost.pr.merge', resource: { target: 'acme/site' } }],
    ['the type has no request', { type: 'codehost.unmapped.post', resource: { target: 'acme/site' } }],
    ['no mcp server is said', { type: 'mcp.tools.send' }],
  ])('the strictest of those that fit, and names it, when %s', async (_what, spec) => {
    const { status, reason, text } = await decided(spec)
    expect(status, text).toBe('pending_approval')
    expect(reason).toMatch(
      /may go to any of 2 connectors, of which connector "[^"]+" has the strictest decision/,
    )
  })

  test('a batch and a dry run decide alike', async () => {
    const action_spec = { type: 'generic.post', resource: { provider: 'generic' }, parameters: { url: LIVE } }
    const batch = await agent.call('POST', '/api/v1/actions/batch', { actions: [{ action_spec }] })
    expect(at(batch.body, 'results', 0, 'decision', 'outcome')).toBe('requires_approval')
    const dry = await agent.call('POST', '/api/v1/actions/dry-run', { action_spec })
    expect(at(dry.body, 'decision', 'outcome')).toBe('requires_approval')
  })

  test('an action without a connector is decided by the policies alone, as before', async () => {
    expect((await decided({ type: 'deploy.app.start' })).status).toBe('allowed')
  })
})
