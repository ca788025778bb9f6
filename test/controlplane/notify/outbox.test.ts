import { createServer } from 'node:net'
import { pino } from 'pino'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Deliver, Delivery } from '../../../controlplane/features/notifications/delivery.ts'
import { Outbox } from '../../../controlplane/features/notifications/outbox.ts'
import { waitAfter } from '../../../controlplane/features/notifications/retry-schedule.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import {
  replyCut,
  replyJson,
  replyNever,
  replyRedirect,
  type Seen,
  startRecorder,
} from '../../support/recorder.ts'
import { createTestCa } from '../../support/test-ca.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { startWorld, TOKEN, type World } from './world.ts'

let postgres: TestPostgres

beforeAll(async () => {
  postgres = await workerPostgres()
})
afterAll(() => postgres.stop())

const bodyOf = (seen: Seen) => JSON.parse(seen.body.toString()) as Record<string, unknown>
const signedHeaders = (seen: Seen) =>
  Object.fromEntries(
    ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [name, seen.header(name) ?? '']),
  )
const settled = (world: World, state: string) =>
  eventually(`all ${state}`, async () => {
    const states = await world.states()
    return states.length > 0 && states.every((found) => found === state) ? states : null
  })

const failures = (world: World) => world.log().match(/not delivered yet|given up/g)?.length ?? 0

/** Returns a clock that moves only when the test moves it. */
function fakeClock(start = new Date('2030-01-01T00:00:00Z')) {
  let now = start.getTime()
  return {
    now: () => new Date(now),
    advance(seconds: number) {
      now += seconds * 1_000
    },
  }
}

describe('a decision notification', () => {
  test('arrives with every field and a signature that the public library accepts', async () => {
    await using world = await startWorld(postgres)
    await using receiver = await startRecorder()
    await world.outbox()
    await world.enqueue({
      url: `${receiver.url}/hook?key=canary-in-the-query`,
      event: 'action.denied',
      status: 'denied',
      decision: { outcome: 'deny', reason: 'no' },
      actionSpec: { type: 'codehost.repo.delete', resource: { provider: 'codehost', target: 'acme/ü' } },
    })
    const [seen] = await receiver.received(1)
    expect(seen).toMatchObject({ method: 'POST', target: '/hook?key=canary-in-the-query' })
    const verified = new Webhook(await world.secret.current()).verify(seen!.body, signedHeaders(seen!))
    expect(verified).toEqual({
      event_id: seen!.header('webhook-id'),
      event: 'action.denied',
      action_request_id: 'act_1',
      status: 'denied',
      decision: { outcome: 'deny', reason: 'no' },
      decision_token: null,
      action_spec: { type: 'codehost.repo.delete', resource: { provider: 'codehost', target: 'acme/ü' } },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    })
    await settled(world, 'delivered')
  })

  test('is not accepted by the public library once a byte of it was changed, or with another secret', async () => {
    await using world = await startWorld(postgres)
    await using receiver = await startRecorder()
    await world.outbox()
    await world.enqueue({ url: receiver.url })
    const [seen] = await receiver.received(1)
    const webhook = new Webhook(await world.secret.current())
    const changed = seen!.body.toString().replace('act_1', 'act_2')
    expect(() => webhook.verify(changed, signedHeaders(seen!))).toThrow('signature')
    const other = new Webhook(`whsec_${Buffer.alloc(32, 1).toString('base64')}`)
    expect(() => other.verify(seen!.body, signedHeaders(seen!))).toThrow('signature')
  })

  test('is signed with the new and the previous secret after a rotation, and not with an older one', async () => {
    await using world = await startWorld(postgres)
    await using receiver = await startRecorder()
    const first = await world.secret.current()
    const second = await world.secret.rotate({ kind: 'system', label: 'test' })
    const third = await world.secret.rotate({ kind: 'system', label: 'test' })
    await world.outbox()
    await world.enqueue({ url: receiver.url })
    const [seen] = await receiver.received(1)
    for (const secret of [second, third]) new Webhook(secret).verify(seen!.body, signedHeaders(seen!))
    expect(() => new Webhook(first).verify(seen!.body, signedHeaders(seen!))).toThrow('signature')
  })

  test('carries the token over https, signed when it leaves, and never over http', async () => {
    await using world = await startWorld(postgres)
    const ca = createTestCa()
    await using secure = await startRecorder({ tls: ca.issue('127.0.0.1') })
    await using plain = await startRecorder()
    const asked: string[] = []
    const tokenFor = async (id: string) => {
      asked.push(id)
      return TOKEN
    }
    await world.enqueue({ url: secure.url, actionRequestId: 'act_s', decisionToken: TOKEN })
    await world.enqueue({ url: plain.url, actionRequestId: 'act_p', decisionToken: TOKEN })
    await world.enqueue({ url: secure.url, actionRequestId: 'act_d', status: 'denied' })
    await world.outbox({ tokenFor, ca: [ca.cert] })
    await settled(world, 'delivered')
    expect(bodyOf(plain.seen[0]!)['decision_token']).toBeNull()
    const tokens = secure.seen.map((seen) => [
      bodyOf(seen)['action_request_id'],
      bodyOf(seen)['decision_token'],
    ])
    expect(Object.fromEntries(tokens)).toEqual({ act_s: TOKEN, act_d: null })
    expect(asked).toEqual(['act_s'])
  })

  test('goes nowhere when the certificate is not trusted', async () => {
    await using world = await startWorld(postgres)
    await using receiver = await startRecorder({ tls: createTestCa().issue('127.0.0.1') })
    await world.enqueue({ url: receiver.url })
    await world.outbox()
    await eventually('refused', async () => (/not delivered yet/.test(world.log()) ? true : null))
    expect(receiver.seen).toHaveLength(0)
  })

  test('is not sent when the transaction that decided was rolled back', async () => {
    await using world = await startWorld(postgres)
    await using receiver = await startRecorder()
    await world.outbox()
    const undone = world.db.tx(async (q) => {
      await world.notifications.enqueue(q, {
        ...{ orgId: world.orgId, url: receiver.url, event: 'action.allowed', actionRequestId: 'act_undone' },
        ...{ status: 'allowed', decision: null, actionSpec: {} },
      })
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    await world.enqueue({ url: receiver.url, actionRequestId: 'act_done' })
    await settled(world, 'delivered')
    expect(receiver.seen.map((seen) => bodyOf(seen)['action_request_id'])).toEqual(['act_done'])
  })
})

/** Waits after failed attempts, in seconds. */
const WAITS_S = [5, 30, 120, 600, 1_800, 7_200, 21_600, 43_200, 86_400]

describe('back-off', { timeout: 90_000 }, () => {
  test('waits 5 s, 30 s, 2 min, 10 min, 30 min, 2 h, 6 h, 12 h, 24 h, a tenth more at most, then gives up', () => {
    expect(WAITS_S.map((_, index) => waitAfter(index + 1, 0))).toEqual(WAITS_S)
    expect(waitAfter(WAITS_S.length + 1, 0)).toBeNull()
    expect(waitAfter(1, 0)).toBe(5)
    expect(waitAfter(9, 1)).toBeCloseTo(86_400 * 1.1)
    expect(waitAfter(10, 0)).toBeNull()
  })

  test('loses nothing while the receiver is down for two hours and the process is restarted', async () => {
    await using world = await startWorld(postgres)
    await using receiver = await startRecorder({ answer: replyCut() })
    const clock = fakeClock()
    const ids = Array.from({ length: 20 }, (_, index) => `act_${index}`)
    for (const actionRequestId of ids) await world.enqueue({ url: receiver.url, actionRequestId })
    // The update precedes the first delivery. A later update would change the times of retries.
    await world.db.query("update outbox set next_attempt_at = '2030-01-01T00:00:00Z'", [])
    let outbox = await world.outbox({ now: clock.now })
    const attempts = (least: number) =>
      eventually(`${least} failed attempts`, () => {
        outbox.wake()
        return failures(world) >= least ? true : null
      })
    for (const [index, seconds] of [0, 5, 30, 120, 600, 1_800].entries()) {
      clock.advance(seconds)
      await attempts((index + 1) * ids.length)
    }
    await outbox[Symbol.asyncDispose]()
    const failed = receiver.seen.length
    expect(failed).toBe(ids.length * 6)
    receiver.answerWith(replyJson({}))
    // The clock moves before the outbox starts. A lease that is taken while the clock moves would expire at once.
    clock.advance(7_199)
    outbox = await world.outbox({ now: clock.now })
    await world.enqueue({ url: receiver.url, actionRequestId: 'act_fresh' })
    clock.advance(1)
    await settled(world, 'delivered')
    const arrived = receiver.seen.slice(failed).map((seen) => bodyOf(seen)['action_request_id'])
    expect(arrived.toSorted()).toEqual([...ids, 'act_fresh'].toSorted())
  })

  test('ends after ten attempts as dead, which is visible, and can be revived', async () => {
    await using world = await startWorld(postgres)
    await using receiver = await startRecorder({ answer: replyJson({}, 500) })
    const clock = fakeClock()
    await world.enqueue({ url: receiver.url })
    await world.db.query("update outbox set next_attempt_at = '2030-01-01T00:00:00Z'", [])
    const outbox = await world.outbox({ now: clock.now })
    for (const [index, seconds] of [0, ...WAITS_S].entries()) {
      clock.advance(seconds)
      outbox.wake()
      await eventually('attempt written down', () => (failures(world) > index ? true : null))
    }
    await settled(world, 'dead')
    const { rows } = await world.notifications.list({ state: 'dead', limit: 10, offset: 0 })
    expect(rows[0]).toMatchObject({
      attempts: 10,
      lastError: 'answered 500',
      lastStatus: 500,
      nextAttemptAt: null,
    })
    expect(rows[0]?.receiver).toBe(receiver.url)
    receiver.answerWith(replyJson({}))
    await world.notifications.retry(rows[0]!.eventId)
    await settled(world, 'delivered')
    expect(new Set(receiver.seen.map((seen) => seen.header('webhook-id'))).size).toBe(1)
    await expect(world.notifications.retry(rows[0]!.eventId)).rejects.toThrow(
      'Only a notification whose delivery has failed for good',
    )
  })

  test('waits longer when the receiver sends Retry-After', async () => {
    await using world = await startWorld(postgres)
    await using receiver = await startRecorder({ answer: replyJson({}, 503, { 'retry-after': '900' }) })
    await world.enqueue({ url: receiver.url })
    await world.outbox()
    const next = await eventually('failed once', async () => {
      const { rows } = await world.notifications.list({ limit: 1, offset: 0 })
      return rows[0]?.lastStatus === 503 ? rows[0].nextAttemptAt : null
    })
    expect(next.getTime() - Date.now()).toBeGreaterThan(880_000)
  })
})

describe('order', () => {
  test('events of one action arrive in the order in which they happened, whatever fails in between', async () => {
    await using world = await startWorld(postgres)
    let isDown = true
    await using receiver = await startRecorder({
      answer: (request, response, seen) => replyJson({}, isDown ? 503 : 200)(request, response, seen),
    })
    for (const event of ['action.allowed', 'action.cancelled'] as const) {
      await world.enqueue({ url: receiver.url, actionRequestId: 'act_slow', event })
    }
    const outbox = await world.outbox()
    await receiver.received(1)
    await world.enqueue({ url: receiver.url, actionRequestId: 'act_other' })
    isDown = false
    await eventually('the other one', () => (receiver.seen.length === 2 ? true : null))
    await world.db.query('update outbox set next_attempt_at = clock_timestamp()', [])
    outbox.wake()
    await settled(world, 'delivered')
    const events = receiver.seen
      .filter((seen) => bodyOf(seen)['action_request_id'] === 'act_slow')
      .map((seen) => bodyOf(seen)['event'])
    expect(events).toEqual(['action.allowed', 'action.allowed', 'action.cancelled'])
  })
})

describe('several replicas', () => {
  test('deliver each notification once', async () => {
    await using world = await startWorld(postgres)
    await using receiver = await startRecorder()
    const ids = Array.from({ length: 60 }, (_, index) => `act_${index}`)
    await Promise.all([world.outbox(), world.outbox(), world.outbox()])
    await Promise.all(ids.map((actionRequestId) => world.enqueue({ url: receiver.url, actionRequestId })))
    await settled(world, 'delivered')
    const arrived = receiver.seen.map((seen) => String(bodyOf(seen)['action_request_id']))
    expect(arrived.toSorted()).toEqual(ids.toSorted())
  })

  test('take over the messages that a crashed process had leased, once the lease has expired', async () => {
    await using world = await startWorld(postgres)
    await using receiver = await startRecorder()
    await world.enqueue({ url: receiver.url })
    await world.db.query(
      "update outbox set leased_by = 'proc_dead', attempts = 1, leased_until = clock_timestamp() + interval '1 second'",
      [],
    )
    await world.outbox()
    await settled(world, 'delivered')
    expect(receiver.seen).toHaveLength(1)
  })
})

/** Longer than the time limit of a test, so a delivery that waits for this timeout fails the test. */
const NO_TIMEOUT_MS = 120_000

describe('a receiver that hangs', () => {
  test('delays no other', async () => {
    await using world = await startWorld(postgres)
    await using hanging = await startRecorder({ answer: replyNever() })
    await using receiver = await startRecorder()
    for (let index = 0; index < 40; index++) {
      await world.enqueue({ url: hanging.url, actionRequestId: `act_h${index}` })
    }
    await world.outbox({ timeoutMs: NO_TIMEOUT_MS })
    await hanging.received(4)
    for (let index = 0; index < 20; index++) {
      await world.enqueue({ url: receiver.url, actionRequestId: `act_${index}` })
    }
    await receiver.received(20)
    // The first four still hang.
    expect([hanging.seen.length, hanging.openConnections]).toEqual([4, 4])
  })

  test('is given up after the time-out and tried again later', async () => {
    await using world = await startWorld(postgres)
    await using hanging = await startRecorder({ answer: replyNever() })
    await world.enqueue({ url: hanging.url })
    await world.outbox({ timeoutMs: 200 })
    const row = await eventually('timed out', async () => {
      const { rows } = await world.notifications.list({ limit: 1, offset: 0 })
      return rows[0]?.lastError ? rows[0] : null
    })
    expect(row).toMatchObject({ state: 'pending', attempts: 1 })
    expect(row.lastError).toMatch(/did not answer within 0.2 s/)
    await eventually('connection closed', () => (hanging.openConnections === 0 ? true : null))
  })

  test('in the middle of its answer has taken the notification, and is not waited for', async () => {
    await using world = await startWorld(postgres)
    await using endless = await startRecorder({
      answer: (request, response) => {
        request.resume()
        response.writeHead(200).write('and then')
      },
    })
    await world.enqueue({ url: endless.url })
    await world.outbox()
    await settled(world, 'delivered')
    await eventually('connection closed', () => (endless.openConnections === 0 ? true : null))
    expect(endless.seen).toHaveLength(1)
  })

  test('does not keep the process from stopping, which hands the notification back uncounted', async () => {
    await using world = await startWorld(postgres)
    await using hanging = await startRecorder({ answer: replyNever() })
    await world.enqueue({ url: hanging.url })
    const outbox = await world.outbox({ timeoutMs: NO_TIMEOUT_MS })
    await hanging.received(1)
    await outbox[Symbol.asyncDispose]()
    const { rows } = await world.notifications.list({ limit: 1, offset: 0 })
    expect(rows[0]).toMatchObject({ state: 'pending', attempts: 0 })
    hanging.answerWith(replyJson({}))
    await world.outbox()
    await settled(world, 'delivered')
  })
})

describe('where a notification may go', () => {
  test('redirects are not followed', async () => {
    await using world = await startWorld(postgres)
    await using target = await startRecorder()
    await using receiver = await startRecorder({ answer: replyRedirect(`${target.url}/elsewhere`, 307) })
    await world.enqueue({ url: receiver.url })
    await world.outbox()
    await eventually('refused', async () => {
      const { rows } = await world.notifications.list({ limit: 1, offset: 0 })
      return rows[0]?.lastStatus === 307 ? true : null
    })
    expect(target.connections).toBe(0)
  })

  test.each([
    ['a loopback address', (port: number) => `http://127.0.0.1:${port}/`],
    ['loopback by a short form', (port: number) => `http://127.1:${port}/`],
    ['loopback by a number', (port: number) => `http://2130706433:${port}/`],
    ['a mapped address', (port: number) => `http://[::ffff:127.0.0.1]:${port}/`],
    ['a name', (port: number) => `http://localhost:${port}/`],
  ])('%s gets no packet unless its range is allowed', async (_name, address) => {
    await using world = await startWorld(postgres)
    await using receiver = await startRecorder()
    await world.enqueue({ url: address(receiver.port) })
    await world.outbox({ reach: 'public' })
    const row = await eventually('refused', async () => {
      const { rows } = await world.notifications.list({ limit: 1, offset: 0 })
      return rows[0]?.lastError ? rows[0] : null
    })
    expect(row.lastError).toMatch(/NOTIFY_ALLOW_CIDRS/)
    expect(receiver.connections).toBe(0)
  })

  test('a name is resolved once, and what was checked is what is dialled', async () => {
    await using world = await startWorld(postgres)
    await using receiver = await startRecorder()
    const answers = [['127.0.0.1'], ['10.0.0.1']]
    const asked: string[] = []
    const resolve = async (host: string) => {
      asked.push(host)
      return (answers.shift() ?? []).map((address) => ({ address, family: 4 }))
    }
    await world.enqueue({ url: `http://receiver.example:${receiver.port}/` })
    await world.outbox({ resolve })
    await settled(world, 'delivered')
    expect(asked).toEqual(['receiver.example'])
    expect(receiver.seen[0]?.header('host')).toBe(`receiver.example:${receiver.port}`)
  })

  test('one private address among public ones spoils the name', async () => {
    await using world = await startWorld(postgres)
    await using trap = await startRecorder()
    const resolve = async () => [
      { address: '203.0.113.1', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ]
    await world.enqueue({ url: `http://receiver.example:${trap.port}/` })
    await world.outbox({ resolve, reach: 'public' })
    await eventually('refused', async () => (/nothing was sent/.test(world.log()) ? true : null))
    expect(trap.connections).toBe(0)
  })

  test('an address that is no web address ends at once, visibly', async () => {
    await using world = await startWorld(postgres)
    await world.enqueue({ url: 'file:///etc/passwd' })
    await world.outbox()
    await settled(world, 'dead')
  })

  test('bytes that are no HTTP are a failure like any other', async () => {
    await using world = await startWorld(postgres)
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy())
      socket.resume().end('nonsense\r\n')
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : 0
    await world.enqueue({ url: `http://127.0.0.1:${port}/` })
    await world.outbox()
    await eventually('failed', async () => (/not delivered yet/.test(world.log()) ? true : null))
    await new Promise((done) => server.close(done))
  })
})

describe('secrets', () => {
  test('rest in no row in clear and appear in no log', async () => {
    await using world = await startWorld(postgres)
    await using receiver = await startRecorder({ answer: replyJson({}, 500) })
    const secret = await world.secret.current()
    const url = `http://user:canary-password@127.0.0.1:${receiver.port}/canary-path?k=canary-query`
    await world.enqueue({ url, decisionToken: TOKEN })
    await world.outbox()
    await receiver.received(1)
    await eventually('failed', async () => (/not delivered yet/.test(world.log()) ? true : null))
    expect(receiver.seen[0]?.header('authorization')).toBe(`Basic ${btoa('user:canary-password')}`)
    const tables = await world.db.query<{ row: string }>(
      'select o::text as row from outbox o union all select s::text from settings s',
      [],
    )
    const everything = tables.rows.map(({ row }) => row).join('\n') + world.log()
    expect(everything).toContain('action.allowed')
    for (const canary of ['canary', secret, secret.slice(6)]) expect(everything).not.toContain(canary)
  })
})

test('a message that becomes obsolete after a failed attempt has failed, and keeps the error of the attempt', async () => {
  await using world = await startWorld(postgres)
  await world.enqueue({})
  const failures: Delivery[] = [{ outcome: 'failed', why: 'chat answered invalid_auth', status: 200 }]
  const deliver: Deliver = async () =>
    failures.shift() ?? { outcome: 'obsolete', why: 'the approval has ended' }
  const clock = fakeClock()
  await using outbox = await Outbox.start({
    ...{ db: world.db, log: pino({ level: 'silent' }), now: clock.now, random: () => 0 },
    deliver: {
      webhook: deliver,
      chat_post: deliver,
      chat_update: deliver,
      chat_tell: deliver,
      hold_notice: deliver,
    },
  })
  await eventually('the first attempt failed', () => (failures.length === 0 ? true : null))
  await eventually('the message is dead', async () => {
    clock.advance(60)
    outbox.wake()
    const [row] = (await world.notifications.list({ limit: 1, offset: 0 })).rows
    return row?.state === 'dead' ? row : null
  }).then((row) => expect(row.lastError).toBe('chat answered invalid_auth; then the approval has ended'))
})
