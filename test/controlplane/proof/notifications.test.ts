import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ControlPlaneProcess } from '../../support/control-plane-process.ts'
import { type DurableInstallation, startDurableInstallation } from '../../support/durable-installation.ts'
import { eventually } from '../../support/eventually.ts'
import { queueLookups } from '../../support/proof.ts'
import {
  type Recorder,
  replyCut,
  replyJson,
  replyNever,
  replyRedirect,
  type Seen,
  startRecorder,
} from '../../support/recorder.ts'
import { ALLOWED, DESTRUCTIVE } from '../v1/world.ts'

let here: DurableInstallation
const LOOPBACK = { NOTIFY_ALLOW_CIDRS: '127.0.0.0/8' }

beforeAll(async () => {
  here = await startDurableInstallation({ LOG_LEVEL: 'fatal' })
})
afterAll(() => here?.[Symbol.asyncDispose]())

/** Submits `count` actions with a webhook. Returns the ids of the acknowledged ones. */
async function submit(plane: ControlPlaneProcess, urls: readonly string[]): Promise<string[]> {
  const { key } = await here.agent(plane)
  return queueLookups(urls, 8, async (webhook_url, n) => {
    const action_spec = n % 2 === 0 ? ALLOWED : DESTRUCTIVE
    const reply = await here.send(plane.url, 'POST', '/api/v1/actions', {
      key,
      body: { action_spec, webhook_url },
    })
    if (reply.status !== 200) throw new Error(reply.text)
    return String(reply.body['action_request_id'])
  })
}

/** As if so many seconds had passed in the database. */
async function pass(seconds: number): Promise<void> {
  await here.sql(
    `update outbox set next_attempt_at = next_attempt_at - make_interval(secs => $1),
       leased_until = leased_until - make_interval(secs => $1) where state = 'pending'`,
    [seconds],
  )
}

const attempts = async () =>
  (
    await here.sql<{ attempts: number; leased: boolean }>(
      "select attempts, leased_by is not null as leased from outbox where state = 'pending'",
    )
  ).map((row) => (row.leased ? -1 : row.attempts))

/** On a busy machine a row can be one attempt ahead: the first wait of 5 s may end before all rows were tried once. */
const all = (what: string, count: number, seen: number) =>
  eventually(what, async () => {
    const list = await attempts()
    return list.length === count && list.every((one) => one >= seen) ? true : null
  })

const bodyOf = (seen: Seen) => JSON.parse(seen.body.toString()) as Record<string, unknown>

function verified(seen: Seen, secret: string): Record<string, unknown> {
  const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature']
  const headers = Object.fromEntries(names.map((name) => [name, seen.header(name) ?? '']))
  return new Webhook(secret).verify(seen.body, headers) as Record<string, unknown>
}

describe('notifications', () => {
  test('of a receiver that is away for two hours all arrive, signed, although the process is ended by kill -9 while it sends and while it waits', async () => {
    const COUNT = 40
    await using receiver = await startRecorder({ answer: replyCut() })
    const first = await here.start(LOOPBACK)
    const secret = String(
      (await here.admin(first, 'GET', '/api/dashboard/settings/webhook-secret'))['webhook_secret'],
    )
    const ids = await submit(first, Array(COUNT).fill(`${receiver.url}/hook`))
    await all('first attempt', COUNT, 1)
    for (const [index, seconds] of [6, 33, 132].entries()) {
      await pass(seconds)
      await all(`attempt ${index + 2}`, COUNT, index + 2)
    }
    // While it waits.
    await first.kill()
    await pass(660)
    const second = await here.start(LOOPBACK)
    await all('attempt 5, of the next process', COUNT, 5)
    // While it sends: four requests have left and hang.
    receiver.answerWith(replyNever())
    const before = receiver.seen.length
    await pass(1_980)
    await receiver.received(before + 4, 20_000)
    await second.kill()
    receiver.answerWith(replyCut())
    const third = await here.start(LOOPBACK)
    // What the dead process had leased is free again after the lease.
    await pass(31)
    await eventually('attempt 6', async () => ((await attempts()).every((n) => n >= 6) ? true : null))
    await third.kill()
    const secondsAway = 6 + 33 + 132 + 660 + 1_980 + 31
    expect(secondsAway).toBeLessThan(7_200)
    await pass(7_200 - secondsAway)
    receiver.answerWith(replyJson({}))
    const from = receiver.seen.length
    const last = await here.start(LOOPBACK)
    // The wait after the sixth attempt with its jitter; for what died on its way it was the seventh.
    await pass(7_920)
    await eventually('most are delivered', async () => ((await attempts()).length <= 4 ? true : null))
    await pass(23_760)
    await eventually('all delivered', async () => ((await attempts()).length === 0 ? true : null))
    const arrived = receiver.seen.slice(from).map((seen) => verified(seen, secret))
    expect(arrived.map((body) => String(body['action_request_id'])).toSorted()).toEqual(ids.toSorted())
    // Every attempt, failed ones included, named the same event and was signed at its own time.
    const events = new Map<unknown, Set<unknown>>()
    for (const seen of receiver.seen.filter(({ isComplete }) => isComplete)) {
      const { action_request_id, event_id } = verified(seen, secret)
      expect(seen.header('webhook-id')).toBe(event_id)
      events.set(action_request_id, (events.get(action_request_id) ?? new Set()).add(event_id))
    }
    expect([...events.values()].every((set) => set.size === 1)).toBe(true)
    expect(await here.sql("select state from outbox where state <> 'delivered'")).toEqual([])
    await last.stop()
  }, 240_000)

  test('to private addresses and behind redirects reach nobody: not one connection', async () => {
    await using trap = await startRecorder()
    // Another one than the trap: a process that may send there would rightly do so when it tries again.
    await using elsewhere = await startRecorder()
    await using turning = await startRecorder({ answer: replyRedirect(`${elsewhere.url}/x`, 307) })
    const plane = await here.start({ NOTIFY_ALLOW_CIDRS: '127.0.0.2/32' })
    const addresses = [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f000001',
      '0.0.0.0',
      'localhost',
      '[::1]',
      '[::ffff:127.0.0.1]',
    ]
    const ids = await submit(
      plane,
      addresses.map((host) => `http://${host}:${trap.port}/`),
    )
    await untilFailed(ids, /NOTIFY_ALLOW_CIDRS|could not be reached|: nothing was sent/)
    expect(trap.connections).toBe(0)
    await plane.stop()

    const open = await here.start(LOOPBACK)
    const redirected = await submit(open, Array(4).fill(`${turning.url}/`))
    await untilFailed(redirected, /redirects are not followed/)
    expect(turning.connections).toBeGreaterThanOrEqual(4)
    expect(elsewhere.connections).toBe(0)
    await open.stop()
  })

  test('to a receiver that hangs delay no other', async () => {
    await using hanging = await startRecorder({ answer: replyNever() })
    await using receiver = await startRecorder()
    const plane = await here.start(LOOPBACK)
    await submit(plane, Array(30).fill(`${hanging.url}/`))
    await eventually('it hangs', () => (hanging.openConnections >= 4 ? true : null))
    const ids = await submit(plane, Array(30).fill(`${receiver.url}/`))
    await receiver.received(30, 30_000)
    expect(arrivedAt(receiver)).toEqual(ids.toSorted())
    // Those that were there first are still waiting: nothing of it was luck.
    expect(hanging.seen.length).toBeLessThan(30)
    await plane.stop()
  })
})

const arrivedAt = (receiver: Recorder) =>
  receiver.seen.map((seen) => String(bodyOf(seen)['action_request_id'])).toSorted()

async function untilFailed(ids: readonly string[], why: RegExp): Promise<void> {
  const rows = await eventually('all tried once', async () => {
    const found = await here.sql<{ error: string | null }>(
      'select last_error as error from outbox where subject_id = any($1::text[])',
      [ids],
    )
    return found.length === ids.length && found.every(({ error }) => error !== null) ? found : null
  })
  for (const { error } of rows) expect(error).toMatch(why)
}
