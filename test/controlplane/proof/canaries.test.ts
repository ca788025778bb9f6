import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createKeyring } from '../../../controlplane/crypto/keyring.ts'
import { dump } from '../../../controlplane/db/dump.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import { loadSigningKeys } from '../../../controlplane/features/actions/tokens/signing-keys.ts'
import type { ControlPlaneProcess } from '../../support/control-plane-process.ts'
import {
  type DurableInstallation,
  SECRETS,
  startDurableInstallation,
} from '../../support/durable-installation.ts'
import { eventually } from '../../support/eventually.ts'
import { replyJson, startRecorder } from '../../support/recorder.ts'
import { type Operation, readOperations, samples } from '../openapi/document.ts'
import { at, caller } from '../routes/start.ts'
import { ALLOWED, RISKY } from '../v1/world.ts'

let here: DurableInstallation
let plane: ControlPlaneProcess
let operations: readonly Operation[]
let session: string
let agentKey: string
/** Ids that a walk over the routes can fill in. */
const ids: Record<string, string> = {}
/** Every secret that the installation was given or has made, in every spelling it may leak in. */
const secrets = new Map<string, readonly string[]>()

function keep(name: string, value: unknown): string {
  const text = String(value)
  if (typeof value !== 'string' || text.length < 16) throw new Error(`${name} is no secret: ${text}`)
  const bytes = Buffer.from(text)
  secrets.set(name, [text, bytes.toString('hex'), bytes.toString('base64').replace(/.{0,2}=*$/, '')])
  return text
}
const canary = (name: string) => keep(name, `canary-${name}-${'q7'.repeat(8)}`)

const found = (text: string, except: readonly string[] = []): string[] =>
  [...secrets]
    .filter(([name, spellings]) => !except.includes(name) && spellings.some((one) => text.includes(one)))
    .map(([name]) => name)

beforeAll(async () => {
  here = await startDurableInstallation({ LOG_LEVEL: 'trace', NOTIFY_ALLOW_CIDRS: '127.0.0.0/8' })
  plane = await here.start()
  operations = await readOperations(caller(plane.url, {}))
  for (const [name, value] of Object.entries(SECRETS)) keep(name, value)
  const raw = Buffer.from(SECRETS.masterKey, 'hex')
  secrets.set('masterKey', [
    SECRETS.masterKey,
    raw.toString('base64').replace(/.{0,2}=*$/, ''),
    raw.toString('latin1'),
  ])
  keep('admin token', here.adminToken)
  await createUsers()
  await configuration()
  await traffic()
  const db = await openDb({ url: here.databaseUrl, log: pino({ level: 'silent' }) })
  const keys = await db.tx((q) => loadSigningKeys(q, createKeyring(raw)))
  keep('signing key', at(keys.current.privateKey.export({ format: 'jwk' }), 'd'))
  await db.close()
})
afterAll(() => here?.[Symbol.asyncDispose]())

const admin = (method: string, path: string, body?: unknown) => here.admin(plane, method, path, body)

async function createUsers(): Promise<void> {
  const email = 'owner@example.com'
  const password = canary('password')
  await here.send(plane.url, 'POST', '/api/auth/register', { body: { email, password, name: 'Owner' } })
  const login = await here.send(plane.url, 'POST', '/api/auth/login', { body: { email, password } })
  session = String(login.headers['set-cookie']).split(';')[0] ?? ''
  keep('session', session.split('=')[1])
  const users = '/api/dashboard/users'
  const made = await here.send(plane.url, 'POST', '/api/auth/keys', {
    body: {},
    headers: { cookie: session },
  })
  keep('approver key', made.body['api_key'])
  const invitation = { action: 'invite', email: 'new@example.com', role: 'viewer' }
  keep('invitation', (await admin('POST', users, invitation))['invite_token'])
  // Failures have a log line and an audit row of their own.
  const wrong = { email, password: canary('wrong password') }
  expect((await here.send(plane.url, 'POST', '/api/auth/login', { body: wrong })).status).toBe(401)
}

async function configuration(): Promise<void> {
  const named = ['chat_bot_token', 'chat_signing_secret', 'codehost_pat']
  const settings = Object.fromEntries(named.map((name) => [name, canary(name)]))
  await admin('PUT', '/api/dashboard/settings', { settings })
  keep(
    'webhook secret',
    (await admin('POST', '/api/dashboard/settings/webhook-secret', {}))['webhook_secret'],
  )
  const types = ['codehost', 'llm_a', 'llm_b', 'llm_c', 'payments', 'chat', 'generic', 'webhook', 'mcp']
  const connectors = types.map((type, index) => ({
    ...{ type, token: canary(`token-${type}`), accessRule: 'allow_all' },
    ...(index > 4 && { domains: [`${type}.example.com`] }),
  }))
  const agent = { name: 'one', runtime: 'x', environment: 'production' }
  const setup = await admin('POST', '/api/dashboard/setup', { agent, connectors })
  agentKey = keep('agent key', setup['api_key'])
  const wizard = await admin('POST', '/api/dashboard/gateway', { gateway: { name: 'edge' } })
  keep('gateway token', wizard['gateway_token'])
  const rotated = await admin('PATCH', '/api/dashboard/agents', {
    ...{ agent_id: (await here.agent(plane)).id, action: 'rotate_key' },
  })
  keep('rotated key', rotated['api_key'])
  const imported = await admin('POST', '/api/dashboard/import', {
    version: '1.0',
    agents: [{ name: 'imported' }],
  })
  keep('imported key', at(imported['agent_keys'], 0, 'api_key'))
  const reply = await here.send(plane.url, 'PUT', '/api/operator/objects/Connector/default/managed', {
    key: SECRETS.operatorToken,
    body: {
      ...{ uid: 'u', generation: 1, source: 'file', managed_by: 'x.yaml', credential: canary('manifest') },
      resource: {
        ...{ apiVersion: 'chaperone.dev/v1alpha1', kind: 'Connector', metadata: { name: 'managed' } },
        spec: { type: 'generic', domains: ['managed.example.com'], credential: { secretRef: { name: 's' } } },
      },
    },
  })
  expect(reply.status, reply.text).toBe(200)
}

/** Actions with tokens, an open approval, and notifications: one that arrives, one that never will. */
async function traffic(): Promise<void> {
  await using receiver = await startRecorder({ answer: replyJson({ echo: 'ok' }, 500) })
  const post = (action_spec: unknown, webhook_url: string) =>
    here.send(plane.url, 'POST', '/api/v1/actions', { key: agentKey, body: { action_spec, webhook_url } })
  const address = `${receiver.url}/${canary('webhook path')}?k=${canary('webhook query')}`
  const allowed = await post(ALLOWED, address)
  ids['actionRequestId'] = at(allowed.body, 'action_request_id')
  keep('decision token', allowed.body['decision_token'])
  secrets.set('decision token', [String(allowed.body['decision_token']).split('.')[2] ?? ''])
  await post(RISKY, `http://user:${canary('webhook password')}@127.0.0.1:1/`)
  await receiver.received(1)
  await eventually('both have failed', () =>
    (plane.log().match(/notification not delivered yet/g)?.length ?? 0) >= 2 ? true : null,
  )
}

/** The answer as far as it comes within a moment: some have no end. */
async function read(path: string, headers: Record<string, string>): Promise<string> {
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), 1_500)
  let text = ''
  try {
    const answer = await fetch(plane.url + path, { headers, signal: stop.signal })
    text += JSON.stringify([...answer.headers])
    for await (const chunk of answer.body ?? []) text += Buffer.from(chunk).toString()
  } catch (error) {
    if (!stop.signal.aborted) throw error
  } finally {
    clearTimeout(timer)
  }
  return text
}

/** With its required parameters, and with all of them that have an answer here. */
function paths({ path, parameters }: Operation): string[] {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'x')
  const query = parameters.filter((parameter) => parameter.in === 'query')
  const textOf = (list: typeof query) =>
    list.map(({ name, schema }) => `${name}=${encodeURIComponent(String(samples(schema)[0]))}`).join('&')
  return [`${filled}?${textOf(query.filter(({ required }) => required))}`, `${filled}?${textOf(query)}`]
}

/** By `pg_dump` where there is one that is as new as the server, else by our own, which `chaperone backup` writes. */
async function dumped(): Promise<string> {
  const done = spawnSync('pg_dump', [here.databaseUrl], { encoding: 'utf8', maxBuffer: 1 << 28 })
  if (done.status === 0) return done.stdout
  const db = await openDb({ url: here.databaseUrl, log: pino({ level: 'silent' }) })
  let text = ''
  await dump(db, async (part) => {
    text += JSON.stringify(part)
  })
  await db.close()
  return text
}

describe('of more than thirty secrets, none', () => {
  test('is missing here: every kind of them was given or made', () => {
    expect(secrets.size).toBeGreaterThanOrEqual(30)
    for (const [name, spellings] of secrets) {
      for (const one of spellings) expect(found(`before ${one} after`)).toContain(name)
    }
    expect(new Set([...secrets.values()].flat()).size).toBe([...secrets.values()].flat().length)
  })

  test('is in any answer to a GET of an owner, over all routes of the document, pages and exports included', async () => {
    const gets = operations.filter(({ method }) => method === 'GET')
    expect(gets.length).toBeGreaterThan(25)
    const more = [
      '/',
      '/setup',
      '/api/dashboard/export?format=manifests',
      '/api/dashboard/export?format=json',
      '/nowhere',
    ]
    // The one place whose purpose is to show it.
    const shown = (path: string) =>
      path.startsWith('/api/dashboard/settings/webhook-secret') ? ['webhook secret'] : []
    for (const path of [...gets.flatMap(paths), ...more]) {
      for (const headers of [{ cookie: session }, { authorization: `Bearer ${here.adminToken}` }]) {
        expect(found(await read(path, headers), shown(path)), path).toEqual([])
      }
    }
  }, 120_000)

  test('is in what agents, gateways-to-be and the maintenance read, but what is their own', async () => {
    const gets = operations.filter(
      ({ method, path }) => method === 'GET' && !path.startsWith('/api/gateway/'),
    )
    for (const path of gets.flatMap(paths)) {
      // Whoever asked for a decision is given its token as long as it is good.
      const own = path.includes(ids['actionRequestId'] ?? '?') ? ['decision token'] : []
      for (const key of [agentKey, SECRETS.maintenance, SECRETS.operatorToken, SECRETS.enrolToken]) {
        const headers = { authorization: `Bearer ${key}`, 'x-process-id': 'proc_x' }
        expect(found(await read(path, headers), own), path).toEqual([])
      }
    }
  }, 120_000)

  test('comes back in an error, wherever it is sent', async () => {
    const all = Object.fromEntries([...secrets].map(([, [secret]], index) => [`field${index}`, secret]))
    for (const { method, path } of operations) {
      if (method === 'GET' || path === '/api/auth/logout') continue
      const filled = path.replaceAll(/\{(\w+)\}/g, 'x')
      const reply = await here.send(plane.url, method, filled, { key: session, body: all })
      if (reply.status >= 400) expect(found(reply.text), `${method} ${path}`).toEqual([])
    }
    for (const [secret = ''] of secrets.values()) {
      if (!/^[\x21-\x7e]+$/.test(secret)) continue
      for (const headers of [
        { authorization: `Bearer ${secret}x` },
        { authorization: secret },
        { cookie: `svc_session=${secret}x` },
      ]) {
        expect(found(await read('/api/dashboard/agents', headers as Record<string, string>))).toEqual([])
      }
      expect(found(await read(`/api/setup?token=${encodeURIComponent(secret)}`, {}))).toEqual([])
    }
  })

  test('is in a log line, at the level trace and through a failure of the database', async () => {
    const hurry = Array.from({ length: 40 }, () =>
      here.send(plane.url, 'GET', '/api/dashboard/settings', { key: session }).catch(() => undefined),
    )
    await Promise.all([here.restartDatabase(), ...hurry])
    await here.sql('alter table settings rename to settings_away')
    const settings = { codehost_pat: secrets.get('codehost_pat')?.[0]?.toUpperCase() }
    const body = { settings }
    const failed = await here.send(plane.url, 'PUT', '/api/dashboard/settings', { key: session, body })
    await here.sql('alter table settings_away rename to settings')
    expect([failed.status, failed.body]).toEqual([
      500,
      { error: 'Internal error', message: 'Internal error' },
    ])
    expect(plane.log()).toContain('request failed')
    expect(found(plane.log())).toEqual([])
    expect(plane.log()).not.toContain(settings.codehost_pat)
  })

  test('is in the rows of the database, as a dump shows them', async () => {
    const tables = await here.sql<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'm', 'v')`,
    )
    expect(tables.length).toBeGreaterThan(20)
    for (const { name } of tables) {
      const rows = await here.sql<{ row: string }>(`select t::text as row from "${name}" t`)
      expect(found(rows.map(({ row }) => row).join('\n')), name).toEqual([])
    }
  })

  test('is in what a dump writes', async () => {
    const text = await dumped()
    expect(text).toContain('approval.')
    expect(text).toContain('audit_events')
    expect(found(text)).toEqual([])
  })

  test('is in the files of the database, the write-ahead log included', async () => {
    await here.sql('select pg_switch_wal()').catch(() => undefined)
    await here.restartDatabase()
    let bytes = 0
    for (const file of readdirSync(here.databaseFolder, { recursive: true, encoding: 'utf8' })) {
      const path = join(here.databaseFolder, file)
      if (!statSync(path, { throwIfNoEntry: false })?.isFile()) continue
      const text = readFileSync(path).toString('latin1')
      bytes += text.length
      expect(found(text), file).toEqual([])
    }
    expect(bytes).toBeGreaterThan(10_000_000)
  })
})
