import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readOperations } from '../openapi/document.ts'
import {
  ENROL_TOKEN,
  MAINTENANCE_SECRET,
  OPERATOR_TOKEN,
  startTestInstallation,
  type TestInstallation,
} from '../routes/installation.ts'
import { at, type Call, caller, PASSWORD, register } from '../routes/start.ts'

let here: TestInstallation
let owner: Call
/** Name and text of every secret that the installation was given or has made. */
const secrets = new Map<string, string>()
const keep = (name: string, value: unknown): string => {
  expect(typeof value, name).toBe('string')
  secrets.set(name, String(value))
  return String(value)
}
const canary = (name: string) => keep(name, `canary-${name}-${'z'.repeat(12)}`)

beforeAll(async () => {
  here = await startTestInstallation()
  const { plane, admin } = here
  keep('enrolment token', ENROL_TOKEN)
  keep('operator token', OPERATOR_TOKEN)
  keep('maintenance secret', MAINTENANCE_SECRET)
  keep('password', PASSWORD)
  await register(plane.call, 'owner@example.com')
  const login = await plane.call('POST', '/api/auth/login', {
    email: 'owner@example.com',
    password: PASSWORD,
  })
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  keep('session', cookie.split('=')[1])
  owner = caller(plane.url, { cookie })
  await admin('PUT', '/api/dashboard/settings', {
    settings: {
      chat_bot_token: canary('chat_bot_token'),
      chat_signing_secret: canary('chat_signing_secret'),
      codehost_pat: canary('codehost_pat'),
    },
  })
  const secret = await admin('POST', '/api/dashboard/settings/webhook-secret')
  keep('webhook secret', at(secret.body, 'webhook_secret'))
  const setup = await admin('POST', '/api/dashboard/setup', {
    agent: { name: 'one', runtime: 'x', environment: 'production' },
    connectors: [
      ...['codehost', 'llm_a', 'llm_b', 'llm_c', 'payments', 'chat'].map((type) => ({
        ...{ type, token: canary(`token-${type}`), accessRule: 'allow_all' },
      })),
      ...['generic', 'webhook', 'mcp'].map((type) => ({
        ...{
          type,
          token: canary(`token-${type}`),
          accessRule: 'allow_all',
          domains: [`${type}.example.com`],
        },
      })),
    ],
  })
  const agentKey = keep('agent key', at(setup.body, 'api_key'))
  const wizard = await admin('POST', '/api/dashboard/gateway', { gateway: { name: 'edge' } })
  keep('gateway token', at(wizard.body, 'gateway_token'))
  const imported = await admin('POST', '/api/dashboard/import', {
    version: '1.0',
    agents: [{ name: 'imported' }],
  })
  keep('imported key', at(imported.body, 'agent_keys', 0, 'api_key'))
  keep('approver key', at((await owner('POST', '/api/auth/keys', {})).body, 'api_key'))
  const invite = { action: 'invite', email: 'new@example.com', role: 'viewer' }
  keep('invitation', at((await admin('POST', '/api/dashboard/users', invite)).body, 'invite_token'))
  const agent = caller(plane.url, { authorization: `Bearer ${agentKey}` })
  const spec = { type: 'codehost.issue.create', resource: { provider: 'codehost', target: 'a/b' } }
  const webhook_url = `https://hooks.example.com/${canary('path of a webhook')}`
  const allowed = await agent('POST', '/api/v1/actions', { action_spec: spec, webhook_url })
  keep('decision token', at(allowed.body, 'decision_token'))
  const operator = caller(plane.url, { authorization: `Bearer ${OPERATOR_TOKEN}` })
  await operator('PUT', '/api/operator/objects/Connector/default/managed', {
    ...{
      uid: 'u',
      generation: 1,
      source: 'file',
      managed_by: 'x.yaml',
      credential: canary('secret of a manifest'),
    },
    resource: {
      ...{ apiVersion: 'chaperone.dev/v1alpha1', kind: 'Connector', metadata: { name: 'managed' } },
      spec: { type: 'generic', domains: ['managed.example.com'], credential: { secretRef: { name: 's' } } },
    },
  })
})
afterAll(() => here?.[Symbol.asyncDispose]())

function found(text: string): string[] {
  return [...secrets].filter(([, secret]) => text.includes(secret)).map(([name]) => name)
}

describe('secrets', () => {
  test('are more than twenty here, every kind there is', () => {
    expect(secrets.size).toBeGreaterThanOrEqual(20)
    expect(new Set(secrets.values()).size).toBe(secrets.size)
  })

  test('are in no answer to any GET, to whomever', async () => {
    const callers: Call[] = [here.admin, owner, here.maintenance, here.plane.call]
    for (const { method, path, parameters } of await readOperations(here.plane.call)) {
      if (method !== 'GET' || path.startsWith('/api/gateway/') || path.includes('{')) continue
      // The one place whose purpose is to show it.
      const shown = path === '/api/dashboard/settings/webhook-secret' ? ['webhook secret'] : []
      if (parameters.some(({ required }) => required)) continue
      for (const call of callers) {
        const leaked = found((await call(method, path)).text).filter((name) => !shown.includes(name))
        expect(leaked, path).toEqual([])
      }
    }
    expect(found((await here.admin('GET', '/api/dashboard/export?format=manifests')).text)).toEqual([])
  })

  test('are nowhere in the database in clear, not in the audit log either', async () => {
    const tables = await here.sql(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
    )
    expect(tables.length).toBeGreaterThan(20)
    for (const { name } of tables) {
      const rows = await here.sql(`select row_to_json(t)::text as row from "${name}" t`)
      // The agent's own address for notifications stands with its request; the queue of deliveries seals it.
      const shown = name === 'action_requests' ? ['path of a webhook'] : []
      const leaked = found(rows.map(({ row }) => row).join('\n')).filter((secret) => !shown.includes(secret))
      expect(leaked, String(name)).toEqual([])
    }
  })

  test('are in no error, even when they are sent where they do not belong', async () => {
    const everything = Object.fromEntries([...secrets].map(([, secret], index) => [`field${index}`, secret]))
    for (const { method, path } of await readOperations(here.plane.call)) {
      if (method === 'GET' || path === '/api/auth/logout') continue
      const { status, text } = await here.admin(method, path.replaceAll(/\{\w+\}/g, 'x'), everything)
      if (status < 400) continue
      expect(found(text), `${method} ${path}`).toEqual([])
    }
    const session = secrets.get('session') ?? ''
    for (const secret of [session, secrets.get('agent key') ?? '']) {
      const wrong = caller(here.plane.url, { authorization: `Bearer ${secret}x` })
      expect(found((await wrong('GET', '/api/dashboard/agents')).text)).toEqual([])
      expect(found((await here.plane.call('GET', `/setup/nowhere?token=${secret}`)).text)).toEqual([])
    }
  })

  test('are in no log line, failures of the database included', async () => {
    await here.sql('alter table settings rename to settings_away')
    const failed = await here.admin('PUT', '/api/dashboard/settings', {
      settings: { codehost_pat: secrets.get('codehost_pat')?.toUpperCase() },
    })
    await here.sql('alter table settings_away rename to settings')
    expect(failed).toMatchObject({
      status: 500,
      body: { error: 'Internal error', message: 'Internal error' },
    })
    expect(found(failed.text)).toEqual([])
    expect(here.plane.log()).toContain('request failed')
    expect(found(here.plane.log())).toEqual([])
    expect(here.plane.log()).not.toContain(secrets.get('codehost_pat')?.toUpperCase())
    for (const line of here.plane.log().trim().split('\n')) expect(() => JSON.parse(line)).not.toThrow()
  })
})
