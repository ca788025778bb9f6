import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import type { Call } from '../routes/start.ts'
import { startTwoTenants, type Tenant, type TwoTenants } from './two-tenants.ts'

let world: TwoTenants
let viewer: Call

beforeAll(async () => {
  world = await startTwoTenants()
  viewer = await world.user('viewer', ['alpha'])
})
afterAll(() => world?.[Symbol.asyncDispose]())

const D = '/api/dashboard'
let holds = 0

/** One change of each kind that the page receives. */
const CHANGES = {
  approvals: (tenant) =>
    world.here.sql(
      `insert into approvals (id, org_id, kind, agent, card, expires_at)
       select $1, id, 'hold', $2, '{"action_type":"codehost.pr.merge","connector":"codehost","parameters":{},"risk_factors":[]}',
         clock_timestamp() + interval '1 hour' from orgs`,
      [`apv_stream_${holds++}`, world.things[tenant].agent],
    ),
  traffic: (tenant) =>
    world.here.sql('update agents set last_seen_at = clock_timestamp() where name = $1', [
      world.things[tenant].agent,
    ]),
  config: (tenant) =>
    world.here.admin('POST', `${D}/agents`, {
      ...{ name: `${tenant}/bot-${holds++}`, runtime: '', environment: 'production' },
      gateway: world.things[tenant].gateway,
    }),
  kill: (tenant) =>
    world.here.admin('POST', `${D}/kill-switch`, {
      active: true,
      scope: `namespace:${tenant}`,
      reason: 'test',
    }),
} as const satisfies Record<string, (tenant: Tenant) => Promise<unknown>>

const kinds = Object.keys(CHANGES) as (keyof typeof CHANGES)[]
const versions = async () => (await viewer('GET', `${D}/events`)).body['versions'] as Record<string, string>

test.each(kinds)(
  'a change of %s of another tenant changes no version, the same of the own one does',
  async (kind) => {
    const before = await versions()
    await CHANGES[kind]('omega')
    expect(await versions()).toEqual(before)
    await CHANGES[kind]('alpha')
    expect((await versions())[kind]).not.toBe(before[kind])
  },
)

test('the stream of the page reports changes of the own namespaces only', async () => {
  const stop = new AbortController()
  const session = await world.session('viewer', ['alpha'])
  const answer = await fetch(`${world.here.plane.url}${D}/events`, {
    headers: { accept: 'text/event-stream', cookie: session },
    signal: stop.signal,
  })
  let received = ''
  const reading = (async () => {
    for await (const chunk of answer.body ?? []) received += Buffer.from(chunk).toString()
  })().catch(() => undefined)
  await eventually('the stream is open', async () => (received.includes('event: open') ? true : null))
  const reported = () => received.split('\n').filter((line) => line.startsWith('data: {"kinds"'))
  /** Repeated, because the first poll of the stream only stores the state. */
  const ownChangeIsReported = (after: number) =>
    eventually('the own change is reported', async () => {
      if (reported().length > after) return true
      await CHANGES.approvals('alpha')
      return null
    })
  await ownChangeIsReported(0)
  for (const kind of kinds) await CHANGES[kind]('omega')
  await ownChangeIsReported(reported().length)
  stop.abort()
  await reading
  expect(new Set(reported())).toEqual(new Set(['data: {"kinds":["approvals"]}']))
})

test.each(['overview', 'activity?seconds=3600', 'proxy-approvals', 'traffic', 'audit?limit=500', 'agents'])(
  'no count of %s changes with what another tenant does',
  async (path) => {
    const admin = await world.user('admin', ['alpha'])
    const read = async () =>
      (await admin('GET', `${D}/${path}`)).text.replaceAll(/"(from|to|time)":"[^"]+"/g, '"$1"')
    const before = await read()
    for (const kind of kinds) await CHANGES[kind]('omega')
    expect(await read()).toBe(before)
  },
)
