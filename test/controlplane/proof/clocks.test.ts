import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ControlPlaneProcess } from '../../support/control-plane-process.ts'
import {
  type DurableInstallation,
  type Reply,
  startDurableInstallation,
} from '../../support/durable-installation.ts'
import { eventually } from '../../support/eventually.ts'
import { startRecorder } from '../../support/recorder.ts'
import { ALLOWED, RISKY } from '../v1/world.ts'

/*
 * The clocks of the two processes are ten minutes off, one each way, while every life span here is five minutes or
 * counted in them. That time has passed in the database is shown by moving its rows into the past by that much: for
 * the process that lags behind they still have time, for the one that is ahead everything else is over already.
 */
const PRELOAD = join(import.meta.dirname, '../../support/shifted-clock.ts')
const TEN_MINUTES_MS = 600_000
const PASSWORD = 'correct horse battery'
const CHAT_SECRET = 'signing-secret-of-the-chat'

let here: DurableInstallation
let ahead: ControlPlaneProcess
let behind: ControlPlaneProcess
let both: readonly ControlPlaneProcess[]
let agent: { readonly id: string; readonly key: string }

beforeAll(async () => {
  here = await startDurableInstallation({ LOG_LEVEL: 'warn', NOTIFY_ALLOW_CIDRS: '127.0.0.0/8' })
  ahead = await here.start({ CLOCK_SHIFT_MS: String(TEN_MINUTES_MS) }, PRELOAD)
  behind = await here.start({ CLOCK_SHIFT_MS: String(-TEN_MINUTES_MS) }, PRELOAD)
  both = [ahead, behind]
  agent = await here.agent(ahead)
  const settings = { chat_signing_secret: CHAT_SECRET }
  await here.admin(ahead, 'PUT', '/api/dashboard/settings', { settings })
})
afterAll(() => here?.[Symbol.asyncDispose]())

const post = (plane: ControlPlaneProcess, path: string, body: unknown, key?: string) =>
  here.send(plane.url, 'POST', path, { body, ...(key !== undefined && { key }) })
const submit = (plane: ControlPlaneProcess, action_spec: unknown) =>
  post(plane, '/api/v1/actions', { action_spec }, agent.key)
const approvalOf = ({ body, text }: Reply): { id: string; expires_at: string } => {
  if (body['approval'] === undefined) throw new Error(text)
  return body['approval'] as { id: string; expires_at: string }
}
const respond = (plane: ControlPlaneProcess, id: string) =>
  post(plane, `/api/v1/approvals/${id}/respond`, { decision: 'approve' }, here.adminToken)
/** From each to each, itself included. */
const pairs = () => both.flatMap((from) => both.map((to) => [from, to] as const))

test('the clocks of the processes are ten minutes off, each to its side', async () => {
  const stampOf = async (plane: ControlPlaneProcess) =>
    Date.parse(String((await here.send(plane.url, 'GET', '/api/health')).body['timestamp']))
  expect((await stampOf(ahead)) - Date.now()).toBeGreaterThan(TEN_MINUTES_MS - 60_000)
  expect((await stampOf(behind)) - Date.now()).toBeLessThan(60_000 - TEN_MINUTES_MS)
})

describe('by the time of the database and of nobody else', () => {
  test('an approval can be answered for five minutes, and not a moment longer', async () => {
    for (const [asked, answered] of pairs()) {
      const open = approvalOf(await submit(asked, RISKY))
      const left = Date.parse(open.expires_at) - Date.now()
      expect(left).toBeGreaterThan(240_000)
      expect(left).toBeLessThanOrEqual(301_000)
      expect((await respond(answered, open.id)).body).toMatchObject({ status: 'approved' })

      const late = approvalOf(await submit(asked, RISKY))
      await here.sql("update approvals set expires_at = clock_timestamp() - interval '1 ms' where id = $1", [
        late.id,
      ])
      const reply = await respond(answered, late.id)
      expect([reply.status, reply.body['error']]).toEqual([410, 'Approval expired'])
    }
    const rows = await here.sql<{ off: number }>(
      `select max(abs(extract(epoch from created_at - now())))::float8 as off from audit_events
       where event_type like 'approval.%'`,
    )
    expect(rows[0]?.off).toBeLessThan(120)
  })

  test('a decision token is good for five minutes, and its nonce not a moment longer', async () => {
    for (const [asked, used] of pairs()) {
      const issue = async () => (await submit(asked, ALLOWED)).body as Record<string, string>
      const verify = async ({ decision_token, action_request_id }: Record<string, string>) =>
        (await post(used, '/api/v1/tokens/verify', { decision_token, action_request_id })).body
      const good = await issue()
      const claims = JSON.parse(
        Buffer.from(good['decision_token']?.split('.')[1] ?? '', 'base64url').toString(),
      ) as { iat: number; exp: number }
      expect(claims.exp - claims.iat).toBe(300)
      expect(Math.abs(claims.iat * 1_000 - Date.now())).toBeLessThan(60_000)
      expect(await verify(good)).toMatchObject({ valid: true })
      expect(await verify(good)).toEqual({ valid: false, error: 'Nonce already used' })
      const late = await issue()
      await here.sql("update nonces set expires_at = clock_timestamp() - interval '1 ms' where act_id = $1", [
        late['action_request_id'],
      ])
      expect(await verify(late)).toEqual({ valid: false, error: 'Token expired' })
      const path = `/api/v1/actions/${late['action_request_id']}`
      const execute = await post(
        used,
        `${path}/execute`,
        { decision_token: late['decision_token'] },
        agent.key,
      )
      expect(execute.status).toBe(410)
      expect((await here.send(used.url, 'GET', path, { key: agent.key })).body['decision_token']).toBeNull()
    }
  })

  test('a session ends 12 hours after its last request and 7 days after its beginning', async () => {
    const email = 'owner@example.com'
    await post(ahead, '/api/auth/register', { email, password: PASSWORD, name: 'Owner' })
    for (const [signedIn, used] of pairs()) {
      const login = await post(signedIn, '/api/auth/login', { email, password: PASSWORD })
      const key = String(login.headers['set-cookie']).split(';')[0] ?? ''
      const me = async () => (await here.send(used.url, 'GET', '/api/auth/me', { key })).status
      const move = (change: string) =>
        here.sql(`update sessions set ${change} where seen_at > now() - interval '11 hours'`)
      expect(await me()).toBe(200)
      // As if five minutes less than its idle time had passed: for one process it is over, for the other it is not.
      await move("seen_at = now() - interval '11 hours 55 minutes'")
      expect(await me()).toBe(200)
      await move("seen_at = now() - interval '12 hours 1 second'")
      expect(await me()).toBe(401)
      const again = await post(signedIn, '/api/auth/login', { email, password: PASSWORD })
      const second = String(again.headers['set-cookie']).split(';')[0] ?? ''
      await move("expires_at = now() - interval '1 second'")
      expect((await here.send(used.url, 'GET', '/api/auth/me', { key: second })).status).toBe(401)
    }
  })

  test('an invitation ends after 7 days, and the minute of an agent’s limit after a minute', async () => {
    for (const [index, [invited, used]] of pairs().entries()) {
      const invite = async (email: string) => {
        const body = { action: 'invite', email, role: 'viewer' }
        const token = (await here.admin(invited, 'POST', '/api/dashboard/users', body))['invite_token']
        return () =>
          post(used, '/api/auth/register', { email, password: PASSWORD, name: 'X', invite_token: token })
      }
      expect((await (await invite(`good${index}@example.com`))()).status).toBe(200)
      const late = await invite(`late${index}@example.com`)
      await here.sql("update invitations set expires_at = now() - interval '1 ms' where used_at is null")
      expect((await late()).status).toBe(403)

      const { key } = await here.agent(invited)
      const ask = async (plane: ControlPlaneProcess) =>
        (await here.send(plane.url, 'GET', '/api/v1/policies', { key })).status
      for (let n = 0; n < 60; n++) expect(await ask(n % 2 === 0 ? invited : used)).toBe(200)
      expect([await ask(invited), await ask(used)]).toEqual([429, 429])
      await here.sql(
        `update agent_windows set hits = array(select h - interval '1 minute' from unnest(hits) as h)
         where agent_id = (select id from agents where api_key_prefix = $1)`,
        [key.slice(0, 15)],
      )
      expect(await ask(used)).toBe(200)
    }
  })

  test('a notification is stamped so that receivers with a right clock accept it, and sent at its time', async () => {
    await using receiver = await startRecorder()
    const { webhook_secret } = await here.admin(ahead, 'GET', '/api/dashboard/settings/webhook-secret')
    const webhook = new Webhook(String(webhook_secret))
    for (const plane of both) {
      const before = receiver.seen.length
      await post(
        plane,
        '/api/v1/actions',
        { action_spec: ALLOWED, webhook_url: `${receiver.url}/` },
        agent.key,
      )
      await receiver.received(before + 1)
    }
    for (const seen of receiver.seen) {
      const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
      webhook.verify(seen.body, Object.fromEntries(names.map((name) => [name, seen.header(name) ?? ''])))
      expect(Math.abs(Number(seen.header('webhook-timestamp')) * 1_000 - Date.now())).toBeLessThan(60_000)
    }
  })

  test('a callback of the chat is taken within five minutes of its signature, and once', async () => {
    const callback = (plane: ControlPlaneProcess, ageS: number) => {
      const body = `payload=${encodeURIComponent(JSON.stringify({ type: 'view_closed', user: { id: `U${Math.random()}` } }))}`
      const timestamp = String(Math.floor(Date.now() / 1_000) - ageS)
      const signature = createHmac('sha256', CHAT_SECRET).update(`v0:${timestamp}:${body}`).digest('hex')
      return fetch(`${plane.url}/api/integrations/chat`, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'x-slack-request-timestamp': timestamp,
          'x-slack-signature': `v0=${signature}`,
        },
        body,
      })
    }
    for (const plane of both) {
      expect((await callback(plane, 0)).status).toBe(200)
      expect((await callback(plane, 240)).status).toBe(200)
      expect((await callback(plane, 360)).status).toBe(401)
      expect((await callback(plane, -360)).status).toBe(401)
    }
  })

  test('what nobody answered is ended when its time is over, not before', async () => {
    const open = approvalOf(await submit(ahead, RISKY))
    const over = approvalOf(await submit(behind, RISKY))
    await here.sql("update approvals set expires_at = clock_timestamp() - interval '1 ms' where id = $1", [
      over.id,
    ])
    const statusOf = async (id: string) =>
      (await here.sql<{ status: string }>('select status from approvals where id = $1', [id]))[0]?.status
    await eventually('expired', async () => ((await statusOf(over.id)) === 'expired' ? true : null))
    expect(await statusOf(open.id)).toBe('pending')
  })
})
