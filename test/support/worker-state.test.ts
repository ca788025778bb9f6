import fs from 'node:fs'
import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { readProcessState, restoreProcessState } from './process-state.ts'
import { workerPostgres } from './worker-postgres.ts'

const VARIABLE = 'CHAPERONE_TEST_STATE'

test.each<[string, object, string, unknown]>([
  [`process.env.${VARIABLE}`, process.env, VARIABLE, 'left'],
  ['process.execPath', process, 'execPath', '/missing'],
  ['Date.now', Date, 'now', () => 0],
  ['performance.now', performance, 'now', () => 0],
  ['fs.fsyncSync', fs, 'fsyncSync', () => undefined],
  ['globalThis.fetch', globalThis, 'fetch', () => Promise.reject(new Error('replaced'))],
])('a changed %s is found and reverted', (name, object, key, value) => {
  const before = readProcessState()
  Reflect.set(object, key, value)
  expect(restoreProcessState(before)).toEqual([name])
  expect(restoreProcessState(before)).toEqual([])
})

test('a changed working directory and umask are found and reverted', () => {
  const before = readProcessState()
  process.chdir('/')
  process.umask(process.umask() ^ 0o007)
  expect(restoreProcessState(before)).toEqual(['working directory', 'umask'])
  expect(restoreProcessState(before)).toEqual([])
})

test('fake timers of a test replace the clock', () => {
  vi.useFakeTimers({ now: 0 })
  vi.spyOn(JSON, 'parse').mockReturnValue('mocked')
  expect([Date.now(), JSON.parse('{}')]).toEqual([0, 'mocked'])
})

test('the next test has the clock of the system and no spies, although that test restored nothing', () => {
  expect(vi.isFakeTimers()).toBe(false)
  expect(JSON.parse('{}')).toEqual({})
})

test('a setting of a role that a test left is reset, and reported by the stop of its handle', async () => {
  const postgres = await workerPostgres()
  const { url, adminUrl } = await postgres.createMigratedDatabase()
  const admin = new pg.Client({ connectionString: adminUrl })
  await admin.connect()
  const role = new URL(url).username
  await admin.query(`alter role ${role} set default_transaction_read_only = on`)
  await admin.end()
  await expect(postgres.stop()).rejects.toThrow(`role ${role}: default_transaction_read_only=on`)
  const next = await workerPostgres()
  const client = new pg.Client({ connectionString: (await next.createMigratedDatabase()).url })
  await client.connect()
  const { rows } = await client.query('show default_transaction_read_only')
  await client.end()
  expect(rows).toEqual([{ default_transaction_read_only: 'off' }])
  await next.stop()
})
