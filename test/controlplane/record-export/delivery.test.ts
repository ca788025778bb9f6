import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { backOffMs } from '../../../controlplane/features/record-export/back-off.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { startExportWorld, startLogsStub, trafficRecord } from './world.ts'

let postgres: TestPostgres

beforeAll(async () => {
  postgres = await workerPostgres()
})
afterAll(() => postgres.stop())

const records = (count: number) => Array.from({ length: count }, () => trafficRecord())
const idsOf = (list: ReadonlyArray<{ readonly id: string }>) => list.map(({ id }) => id)
const sorted = (list: readonly string[]) => [...list].sort()

test('every stored record leaves once, in batches, also when its upload is repeated', async () => {
  await using world = await startExportWorld(postgres)
  await using stub = await startLogsStub()
  await world.replica(stub.url)
  const stored = records(1_200)
  await world.store(stored)
  await world.store(stored)
  await world.drained()
  expect(sorted(stub.accepted)).toEqual(sorted(idsOf(stored)))
  expect(Math.max(...stub.requests.map((uids) => uids.length))).toBe(500)
  expect(await world.destination()).toMatchObject({
    ...{ sent: 1_200, rejected: 0, dropped: 0, errors: 0, lagS: 0, attempts: 0, lastError: null },
  })
  const [seen] = stub.recorder.seen
  expect(seen).toMatchObject({ method: 'POST', target: '/v1/logs' })
  expect(seen?.header('content-type')).toBe('application/json')
})

test('a record that is committed after a later one leaves too', async () => {
  await using world = await startExportWorld(postgres)
  await using stub = await startLogsStub()
  await world.replica(stub.url)
  const [first, early, late] = [trafficRecord(), trafficRecord(), trafficRecord()]
  // Creates the partition of the day, which locks out other writers until the commit.
  await world.store([first])
  await world.drained()
  await world.store([early], async () => {
    await world.store([late])
    await eventually('the later record', () => (stub.accepted.includes(late.id) ? true : null))
    expect(stub.accepted).toEqual([first.id, late.id])
  })
  await world.drained()
  expect(stub.accepted).toEqual([first.id, late.id, early.id])
})

test('a rolled back record does not leave', async () => {
  await using world = await startExportWorld(postgres)
  await using stub = await startLogsStub()
  await world.replica(stub.url)
  const [lost, kept] = [trafficRecord(), trafficRecord()]
  await world.store([lost], () => Promise.reject(new Error('rolled back'))).catch(() => undefined)
  await world.store([kept])
  await world.drained()
  expect(stub.accepted).toEqual([kept.id])
})

test('records wait while the receiver fails, for as long as it demands, also over a restart', async () => {
  await using world = await startExportWorld(postgres)
  await using stub = await startLogsStub()
  stub.replyWith(() => ({ status: 503, headers: { 'retry-after': '3600' } }))
  const first = await world.replica(stub.url)
  await world.store([trafficRecord()])
  await eventually('a failure', async () => ((await world.destination()).errors === 1 ? true : null))
  await first[Symbol.asyncDispose]()
  stub.replyWith(() => ({ status: 200 }))
  const second = await world.replica(stub.url)
  const { rows } = await world.db.query<{ s: number; by: string | null }>(
    'select extract(epoch from retry_at - now())::float8 as s, leased_by as by from record_destinations',
  )
  expect(rows[0]?.s).toBeGreaterThan(3_000)
  expect(await second.warnings()).toEqual([
    'Records cannot be exported: answered 503. Check RECORD_EXPORT_URL and its receiver.',
  ])
  expect(stub.requests).toHaveLength(1)
  await world.db.query('update record_destinations set retry_at = now()')
  await world.drained()
  expect(stub.accepted).toHaveLength(1)
  expect(await world.destination()).toMatchObject({ attempts: 0, errors: 1, sent: 1, lastError: null })
  expect(await second.warnings()).toEqual([])
})

test.each([401, 404, 405, 429, 500, 302])(
  'a receiver that answers %i gets its records later',
  async (status) => {
    await using world = await startExportWorld(postgres)
    await using stub = await startLogsStub()
    stub.replyWith(() => ({ status }))
    await world.replica(stub.url)
    await world.store(records(3))
    await eventually('a failure', async () => ((await world.destination()).errors > 0 ? true : null))
    expect(await world.pending()).toBe(3)
    stub.replyWith(() => ({ status: 200 }))
    await world.db.query('update record_destinations set retry_at = now()')
    await world.drained()
    expect(await world.destination()).toMatchObject({ sent: 3, rejected: 0, dropped: 0 })
  },
)

test('a partial success counts and logs the rejected records, and is not repeated', async () => {
  await using world = await startExportWorld(postgres)
  await using stub = await startLogsStub()
  stub.replyWith((uids) => ({
    status: 200,
    body:
      uids.length === 5
        ? { partialSuccess: { rejectedLogRecords: '2', errorMessage: 'too old' } }
        : { partialSuccess: {} },
  }))
  await world.replica(stub.url)
  await world.store(records(5))
  await world.drained()
  expect(stub.requests).toHaveLength(1)
  expect(await world.destination()).toMatchObject({ sent: 3, rejected: 2, errors: 0 })
  expect(world.log()).toContain('"records":2,"message":"too old"')
})

test.each([400, 413])(
  'records whose content is refused with %i are found, and the others leave',
  async (status) => {
    await using world = await startExportWorld(postgres)
    await using stub = await startLogsStub()
    const stored = records(20)
    const refused = new Set([stored[3]?.id, stored[4]?.id, stored[11]?.id])
    stub.replyWith((uids) => ({ status: uids.some((uid) => refused.has(uid)) ? status : 200 }))
    await world.replica(stub.url)
    await world.store(stored)
    await world.drained()
    expect(sorted(stub.accepted)).toEqual(sorted(idsOf(stored).filter((id) => !refused.has(id))))
    expect(await world.destination()).toMatchObject({ sent: 17, rejected: 3, errors: 0 })
    for (const id of refused) expect(world.log()).toMatch(new RegExp(`"record_ids":\\[[^\\]]*"${id}"`))
  },
)

test('a receiver that refuses everything loses nothing', async () => {
  await using world = await startExportWorld(postgres)
  await using stub = await startLogsStub()
  stub.replyWith(() => ({ status: 400 }))
  await world.replica(stub.url)
  await world.store(records(20))
  await eventually('a failure', async () => ((await world.destination()).errors > 0 ? true : null))
  expect(await world.pending()).toBe(20)
  stub.replyWith(() => ({ status: 200 }))
  await world.db.query('update record_destinations set retry_at = now()')
  await world.drained()
  expect(await world.destination()).toMatchObject({ sent: 20, rejected: 0 })
})

test('a request whose reply is lost is repeated with the same ids', async () => {
  await using world = await startExportWorld(postgres)
  await using stub = await startLogsStub()
  stub.replyWith(() => ({ status: stub.requests.length === 1 ? 0 : 200 }))
  await world.replica(stub.url)
  const stored = records(2)
  await world.store(stored)
  await world.drained()
  expect(stub.requests).toEqual([idsOf(stored), idsOf(stored)])
  expect(await world.destination()).toMatchObject({ sent: 2, errors: 1 })
})

test('one replica sends at a time, and another one continues', async () => {
  await using world = await startExportWorld(postgres)
  await using stub = await startLogsStub()
  const first = await world.replica(stub.url)
  await world.replica(stub.url)
  await world.store(records(600))
  await world.drained()
  await first[Symbol.asyncDispose]()
  await world.store(records(600))
  await world.drained()
  expect(new Set(stub.accepted).size).toBe(1_200)
  expect(stub.accepted).toHaveLength(1_200)
})

test('the lease of a replica that crashed ends by database time', async () => {
  await using world = await startExportWorld(postgres)
  await using stub = await startLogsStub()
  await world.db.query(
    `insert into record_destinations (name, leased_by, leased_until) values ('otlp', 'gone', now() + interval '1 hour')`,
  )
  await world.replica(stub.url)
  await world.store([trafficRecord()])
  expect(await world.pending()).toBe(1)
  expect(stub.requests).toEqual([])
  await world.db.query(`update record_destinations set leased_until = now() - interval '1 second'`)
  await world.drained()
  expect(stub.accepted).toHaveLength(1)
})

test('writers, failures, lost replies and changes of the sender lose nothing', async () => {
  await using world = await startExportWorld(postgres)
  await using stub = await startLogsStub()
  let turn = 0
  stub.replyWith(() => {
    turn += 1
    return {
      status: turn % 3 === 0 ? 503 : 200,
      ...(turn % 2 === 0 ? { headers: { 'retry-after': '0' } } : {}),
    }
  })
  const stored: string[] = []
  const write = async (count: number) => {
    for (let n = 0; n < count; n += 1) {
      const batch = records(1 + (n % 7))
      await world.store(batch)
      stored.push(...idsOf(batch))
    }
  }
  const starter = await world.replica(stub.url)
  await write(1)
  await starter[Symbol.asyncDispose]()
  const writing = Promise.all([write(30), write(30), write(30)])
  for (let n = 0; n < 3; n += 1) {
    const replica = await world.replica(stub.url)
    const before = stub.requests.length
    await write(1)
    await eventually('a request', () => (stub.requests.length > before ? true : null))
    await replica[Symbol.asyncDispose]()
  }
  await writing
  await world.replica(stub.url)
  await world.db.query('update record_destinations set retry_at = now()')
  await world.drained()
  expect(sorted([...new Set(stub.accepted)])).toEqual(sorted(stored))
  expect(await world.destination()).toMatchObject({ sent: stored.length, rejected: 0, dropped: 0 })
})

test('a metadata address is never called', async () => {
  await using world = await startExportWorld(postgres)
  const replica = await world.replica('http://169.254.169.254/v1/logs')
  await world.store([trafficRecord()])
  await eventually('a failure', async () => ((await world.destination()).errors > 0 ? true : null))
  expect((await replica.warnings())[0]).toMatch(/169\.254\.169\.254.*nothing was sent/)
  expect(await world.pending()).toBe(1)
})

test('headers of the file are read again for each request, and a wrong file ends the start', async () => {
  await using world = await startExportWorld(postgres)
  await using stub = await startLogsStub()
  const folder = await mkdtemp(join(tmpdir(), 'record-export-'))
  const file = join(folder, 'headers')
  try {
    await writeFile(file, '# tenant\nX-Tenant: one\nauthorization: Bearer first-token\n')
    await world.replica(stub.url, file)
    await world.store([trafficRecord()])
    await world.drained()
    await writeFile(file, 'authorization: Bearer second-token')
    await world.store([trafficRecord()])
    await world.drained()
    const [first, second] = stub.recorder.seen
    expect([first?.header('x-tenant'), first?.header('authorization')]).toEqual(['one', 'Bearer first-token'])
    expect([second?.header('x-tenant'), second?.header('authorization')]).toEqual([
      undefined,
      'Bearer second-token',
    ])
    expect(world.log()).not.toContain('-token')
    await writeFile(file, 'authorization secret')
    await expect(world.replica(stub.url, file)).rejects.toThrow(
      `${file}:1 is not a header; write "Name: value"`,
    )
    await writeFile(file, 'a: b\nContent-Type: text/plain')
    await expect(world.replica(stub.url, file)).rejects.toThrow(`${file}:2 has the header Content-Type`)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('waits double up to a minute, with a jitter of half, and the receiver may demand more', () => {
  expect([1, 2, 3, 7, 50].map((attempts) => backOffMs(attempts, 1, null))).toEqual([
    1_000, 2_000, 4_000, 60_000, 60_000,
  ])
  expect(backOffMs(3, 0, null)).toBe(2_000)
  expect(backOffMs(1, 0, 120)).toBe(120_000)
})
