import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ENROL_TOKEN,
  MAINTENANCE_SECRET,
  OPERATOR_TOKEN,
  startTestInstallation,
  type TestInstallation,
} from '../routes/installation.ts'
import { at, type Call, caller, register } from '../routes/start.ts'
import { type Operation, readOperations } from './document.ts'

let here: TestInstallation
let operations: readonly Operation[]
const callers = new Map<string, Call>()

beforeAll(async () => {
  here = await startTestInstallation()
  const { plane, admin } = here
  operations = await readOperations(plane.call)
  await register(plane.call, 'owner@example.com')
  callers.set('owner', await plane.signIn('owner@example.com'))
  for (const role of ['viewer', 'member', 'admin']) {
    const { body } = await admin('POST', '/api/dashboard/users', {
      action: 'invite',
      email: `${role}@example.com`,
      role,
    })
    await register(plane.call, `${role}@example.com`, { invite_token: at(body, 'invite_token') })
    callers.set(role, await plane.signIn(`${role}@example.com`))
  }
  const member = await plane.signIn('member@example.com')
  const key = await member('POST', '/api/auth/keys', {})
  const bearer = (token: string) =>
    caller(plane.url, { authorization: `Bearer ${token}`, 'x-process-id': 'proc_test' })
  callers.set('approverKey', bearer(at(key.body, 'api_key')))
  callers.set('gatewayToken', bearer(ENROL_TOKEN))
  callers.set('operatorToken', bearer(OPERATOR_TOKEN))
  callers.set('maintenanceSecret', bearer(MAINTENANCE_SECRET))
  callers.set('nobody', plane.call)
  callers.set('forged session', caller(plane.url, { cookie: 'svc_session=forged' }))
  callers.set('forged token', bearer('forged'))
  const agent = { name: 'caller', runtime: 'test', environment: 'development' }
  callers.set('agentKey', bearer(at((await admin('POST', '/api/dashboard/agents', agent)).body, 'api_key')))
})
afterAll(() => here?.[Symbol.asyncDispose]())

describe('the OpenAPI document', () => {
  test('is public, has the program’s version and one operation per declared route', async () => {
    const { status, body, headers } = await here.plane.call('GET', '/api/openapi.json')
    expect(status).toBe(200)
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string }
    expect(body).toMatchObject({ openapi: '3.1.0', info: { version } })
    expect(headers.get('x-service-version')).toBe(version)
    const names = operations.map(({ method, path }) => `${method} ${path}`)
    expect(new Set(names).size).toBe(names.length)
    const ids = Object.values(
      at<Record<string, Record<string, { operationId: string }>>>(body, 'paths'),
    ).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
    expect(new Set(ids).size).toBe(ids.length)
  })

  test.each(
    `POST /api/auth/register|POST /api/auth/login|POST /api/auth/logout|GET /api/health|POST /api/maintenance/cleanup
    |GET /api/metrics|GET /api/dashboard/gateway|POST /api/dashboard/gateway|PATCH /api/dashboard/gateway
    |GET /api/dashboard/agents|POST /api/dashboard/agents|PATCH /api/dashboard/agents|GET /api/dashboard/policies
    |POST /api/dashboard/policies|PATCH /api/dashboard/policies|POST /api/dashboard/setup|GET /api/dashboard/traffic
    |GET /api/dashboard/proxy-approvals|POST /api/dashboard/proxy-approvals|GET /api/dashboard/settings
    |PUT /api/dashboard/settings|GET /api/dashboard/audit-export|GET /api/dashboard/export|POST /api/dashboard/import
    |POST /api/dashboard/users|GET /api/dashboard/test-gateway`
      .split('|')
      .map((name) => name.trim()),
  )('describes %s of the specification', (name) => {
    expect(operations.map(({ method, path }) => `${method} ${path}`)).toContain(name)
  })

  test('says which statuses an operation has beside success', () => {
    const login = operations.find(({ path }) => path === '/api/auth/login')
    expect(login?.statuses).toEqual([200, 400, 401, 403, 404, 409, 413, 415, 421, 429, 431, 500, 503])
    const health = operations.find(({ path }) => path === '/api/health')
    expect(health?.statuses).toEqual([200, 421, 431, 500, 503])
    expect(health?.schemas['503']).toEqual(health?.schemas['200'])
    expect(login?.schemas['503']).toEqual({ $ref: '#/components/schemas/Error' })
    const csv = operations.find(({ path }) => path === '/api/dashboard/audit-export')
    expect(csv).toMatchObject({ successType: 'text/csv', minimumRole: 'admin' })
    expect(csv?.statuses).toContain(403)
  })
})

const RANKS = ['viewer', 'member', 'admin', 'owner']
/**
 * Calls the operation with an empty body. A caller with the right to call it gets a validation error, and nothing
 * changes.
 */
async function answerTo(
  who: string,
  { method, path }: Operation,
): Promise<{ status: number; body: unknown }> {
  const call = callers.get(who)
  if (call === undefined) throw new Error(`nobody is called ${who}`)
  // The stream has no end: its head is enough.
  if (path === '/api/gateway/stream') return headOnly(who, path)
  return call(method, path.replaceAll(/\{\w+\}/g, 'nothing'), method === 'GET' ? undefined : {})
}

async function headOnly(who: string, path: string) {
  const stop = new AbortController()
  const token = who === 'gatewayToken' ? ENROL_TOKEN : 'forged'
  const answer = await fetch(here.plane.url + path, {
    headers: { authorization: `Bearer ${token}`, 'x-process-id': 'proc_test' },
    signal: stop.signal,
  })
  stop.abort()
  return { status: answer.status, body: {} }
}

/** What the declaration means for somebody: `in`, or the status of the refusal. */
function wanted(who: string, { security, minimumRole, path }: Operation): 'in' | 401 | 403 {
  if (security.length === 0) return 'in'
  if (security.includes(who)) return 'in'
  // Said plainly: an agent never answers an approval.
  if (who === 'agentKey' && security.includes('approverKey')) return 403
  const rank = RANKS.indexOf(who)
  if (rank === -1 || !security.includes('session')) return 401
  const needed =
    minimumRole ??
    (security.includes('approverKey') ? 'member' : security.includes('agentKey') ? 'admin' : 'viewer')
  if (path === '/api/auth/logout') return 'in'
  return rank >= RANKS.indexOf(needed) ? 'in' : 403
}

describe('every route', () => {
  test('admits exactly the declared callers, over all routes and all kinds of callers', async () => {
    const wrong: string[] = []
    let checks = 0
    for (const operation of operations) {
      // These end the session that the next checks need, or begin one.
      if (/^\/api\/auth\/(logout|login|register)$/.test(operation.path)) continue
      for (const who of callers.keys()) {
        const { status, body } = await answerTo(who, operation)
        const want = wanted(who, operation)
        checks++
        const line = `${operation.method} ${operation.path} as ${who}: ${status}, wanted ${want}`
        // A chat callback is signed, not signed in.
        if (operation.path === '/api/integrations/chat') continue
        // An agent may lack the capability that the deed needs.
        const lacksCapability =
          who === 'agentKey' && status === 403 && at(body, 'required_role') === undefined
        if (want === 'in' && lacksCapability) continue
        if (want === 'in' ? status === 401 || status === 403 : status !== want) wrong.push(line)
        if (!operation.statuses.includes(status)) wrong.push(`${line} (not documented)`)
        if (
          status === 403 &&
          at(body, 'error') === 'Forbidden' &&
          operation.minimumRole !== undefined &&
          who !== 'agentKey'
        ) {
          const roles = [at(body, 'required_role'), at(body, 'your_role')]
          if (roles[0] !== operation.minimumRole || roles[1] !== who) wrong.push(`${line}: ${roles}`)
        }
      }
    }
    expect(wrong).toEqual([])
    expect(checks).toBeGreaterThan(300)
  }, 120_000)

  test('answers with the request’s id and the version, errors too', async () => {
    for (const [method, path] of [
      ['GET', '/api/nowhere'],
      ['POST', '/api/auth/login'],
      ['GET', '/api/health'],
      ['GET', '/api/metrics'],
    ] as const) {
      const { headers } = await here.plane.call(method, path, method === 'POST' ? '{' : undefined)
      expect(headers.get('x-request-id')).toMatch(/^req_/)
      expect(headers.get('x-service-version')).toMatch(/^\d+\.\d+\.\d+$/)
    }
  })
})
