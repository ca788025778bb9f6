import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../controlplane/crypto/ids.ts'
import type { TrafficRecord } from '../../core/record.ts'
import {
  type Enrolled,
  holdBody,
  person,
  type Replica,
  startWorld,
  type World,
} from '../controlplane/sync/harness.ts'
import { trafficRecord } from '../sidecar/journal/traffic-record.ts'
import { eventually } from '../support/eventually.ts'
import { size } from '../support/proof.ts'
import { startTcpRelay, type TcpRelay } from '../support/tcp-relay.ts'

const ROUNDS = size(1, 5)
const admin = person({ role: 'admin', email: 'root@example.com' })
let world: World
let relay: TcpRelay
/** Replica B reaches the database through the relay. */
let a: Replica
let b: Replica
let gateway: Enrolled

beforeAll(async () => {
  world = await startWorld()
  relay = await startTcpRelay(world.database.url)
  a = await world.replica()
  b = await world.replica({ databaseUrl: relay.url, hangMs: 3_000, connectMs: 3_000 })
  gateway = await a.enrol('default/local')
})
afterAll(async () => {
  await world?.stop()
  await relay?.[Symbol.asyncDispose]()
})

let seq = 0
function batch(): TrafficRecord[] {
  return Array.from({ length: 20 }, () =>
    trafficRecord({ id: newId('record'), seq: seq++, process_id: 'proc_1', time: new Date().toISOString() }),
  )
}
const upload = (to: Replica, records: readonly TrafficRecord[], lost: object[] = []) =>
  to
    .gateway(gateway, 'POST', '/api/gateway/records', { records, lost }, 'proc_1')
    .catch(() => ({ status: 0 }))
const storedOf = async (records: readonly TrafficRecord[]) => {
  const ids = records.map(({ id }) => id)
  return (await a.db.query('select id from traffic where id = any($1)', [ids])).rows.length
}
/** Uploads as a gateway does: until the batch is acknowledged. */
const persist = (to: Replica, records: readonly TrafficRecord[]) =>
  eventually('an acknowledged upload', async () => ((await upload(to, records)).status === 200 ? true : null))

let holds = 0
async function hold(): Promise<{ readonly id: string; readonly binding: string }> {
  const binding = createHash('sha256').update(`hold-${holds++}`).digest('hex')
  const reply = await a.gateway(gateway, 'POST', '/api/gateway/holds', holdBody({ binding }), 'proc_1')
  return { id: (reply.body['approval'] as { id: string }).id, binding }
}
const answer = (at: Replica, id: string, approved: boolean) =>
  at
    .user(admin, 'POST', '/api/dashboard/proxy-approvals', { id, approved })
    .catch(() => ({ status: 0, body: {} }))
const spend = async (at: Replica, { id, binding }: Awaited<ReturnType<typeof hold>>) => {
  const path = `/api/gateway/holds/${id}/spend`
  const reply = await at.gateway(gateway, 'POST', path, { binding }, 'proc_1').catch(() => null)
  return reply?.body['spent'] === true ? 1 : 0
}

type Fault = { readonly name: string; readonly begin: () => unknown; readonly end: () => unknown }
const FAULTS: readonly Fault[] = [
  { name: 'no fault', begin: () => undefined, end: () => undefined },
  { name: 'a database that replica B cannot reach', begin: () => relay.refuse(), end: () => relay.restore() },
  {
    name: 'a network that drops the packets of replica B to the database',
    begin: () => relay.swallow(),
    async end() {
      await relay.restore()
      relay.cut()
    },
  },
  { name: 'connections of replica B that are cut', begin: () => relay.cut(), end: () => relay.cut() },
]
const events = async () =>
  (await a.db.query<{ id: string; text: string }>('select id::text, e::text as text from audit_events e'))
    .rows

describe.each(Array.from({ length: ROUNDS }, (_, n) => n + 1))('round %i', () => {
  test.each(FAULTS)(
    '$name: an upload to both replicas, repeated until acknowledged, is stored once',
    async (fault) => {
      const batches = [batch(), batch(), batch()]
      await fault.begin()
      await Promise.all(batches.flatMap((each) => [upload(b, each), upload(a, each), upload(b, each)]))
      await fault.end()
      for (const each of batches) await persist(b, each)
      for (const each of batches) expect(await storedOf(each)).toBe(each.length)
    },
  )

  test.each(FAULTS)(
    '$name: a hold that is answered and spent at both replicas is released at most once',
    async (fault) => {
      const before = await events()
      const held = await hold()
      await fault.begin()
      const replies = await Promise.all([answer(a, held.id, true), answer(b, held.id, false)])
      const spent = await Promise.all([spend(a, held), spend(b, held), spend(a, held)])
      await fault.end()
      const { rows } = await a.db.query<{ status: string }>('select status from approvals where id = $1', [
        held.id,
      ])
      const isApproved = rows[0]?.status === 'approved'
      const later = [await spend(a, held), await spend(a, held)]
      const released = [...spent, ...later].reduce<number>((sum, n) => sum + n, 0)
      expect(replies.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
      expect(released).toBeLessThanOrEqual(isApproved ? 1 : 0)
      if (isApproved && replies[1]?.status !== 0) expect(released).toBe(1)
      const after = new Map((await events()).map(({ id, text }) => [id, text]))
      expect(before.filter(({ id, text }) => after.get(id) !== text)).toEqual([])
      expect(after.size).toBeGreaterThanOrEqual(before.length)
    },
  )
})
