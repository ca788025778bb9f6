import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createKeyring } from '../../../controlplane/crypto/keyring.ts'
import { masterKeyId, masterKeysText } from '../../../controlplane/crypto/master-keys.ts'
import { createServerCa } from '../../../controlplane/crypto/server-certificate.ts'
import { eventually } from '../../support/eventually.ts'
import { insertSealedRows, openSealedRows, tablesWithKey } from '../../support/sealed-rows.ts'
import { startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at, caller, type TestControlPlane } from '../routes/start.ts'

const OLD = Buffer.from('ab'.repeat(32), 'hex')
const NEW = Buffer.alloc(32, 0xcd)
const [OLD_ID, NEW_ID] = [masterKeyId(OLD), masterKeyId(NEW)]
const both = createKeyring({ root: OLD, keys: [OLD, NEW] })

let folder: string
let here: TestInstallation
let second: TestControlPlane
const fileOf = (replica: string) => join(folder, `${replica}.key`)
const write = (replica: string, ...keys: readonly [Buffer, ...Buffer[]]) =>
  writeFileSync(fileOf(replica), masterKeysText({ root: OLD, keys }))

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chaperone-master-key-'))
  write('first', OLD)
  write('second', OLD)
  here = await startTestInstallation({ MASTER_KEY_FILE: fileOf('first') })
  second = await here.another({ MASTER_KEY_FILE: fileOf('second') })
  await insertSealedRows(here.sql, createKeyring(OLD))
}, 120_000)
afterAll(async () => {
  await here?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const replicas = () => here.sql('select key_ids, sealing_id from replica_keys order by replica_id')
const sealingKey = async () =>
  (await here.sql('select key_id from master_keys order by number desc limit 1'))[0]?.['key_id']
const readersOfNew = async (count: number) =>
  eventually(`${count} replicas that decrypt with the new key`, async () => {
    const found = (await replicas()).filter((row) => (row['key_ids'] as string[]).includes(NEW_ID))
    return found.length === count ? true : null
  })

test('encrypts nothing with a key that one replica does not have', async () => {
  write('first', OLD, NEW)
  await readersOfNew(1)
  // A replica of an earlier version reports itself, but no keys.
  await here.sql(
    `insert into replicas (id, seen_at) values ('earlier', clock_timestamp() + interval '1 hour')`,
  )
  write('second', OLD, NEW)
  await readersOfNew(2)
  const seen = await here.sql('select max(seen_at) as at from replica_keys')
  await eventually('two further reports', async () => {
    const [row] = await here.sql(
      `select max(seen_at) > $1::timestamptz + interval '4 s' as is_later from replica_keys`,
      [seen[0]?.['at']],
    )
    return row?.['is_later'] === true ? true : null
  })
  expect(await sealingKey()).toBe(OLD_ID)
  expect(new Set(await openSealedRows(here.sql, both))).toEqual(new Set([OLD_ID]))
})

test('then encrypts every value again, while each replica decrypts both, and says so in the audit log', async () => {
  await here.sql(`delete from replicas where id = 'earlier'`)
  await eventually('the end of the rotation', async () => {
    await openSealedRows(here.sql, both)
    const [row] = await here.sql('select completed_at from master_keys where key_id = $1', [NEW_ID])
    return row?.['completed_at'] == null ? null : true
  })
  expect(await tablesWithKey(here.sql, OLD_ID)).toEqual([])
  expect((await replicas()).map((row) => row['sealing_id'])).toEqual([NEW_ID, NEW_ID])
  const { body } = await here.admin('GET', '/api/dashboard/audit?event_type=settings.updated')
  const details = at<{ details: Record<string, unknown> }[]>(body, 'events').map((event) => event.details)
  expect(details).toContainEqual(
    expect.objectContaining({ change: 'master_key_rotation_started', key_id: NEW_ID, former_key_id: OLD_ID }),
  )
  expect(details).toContainEqual(
    expect.objectContaining({ change: 'master_key_rotation_completed', key_id: NEW_ID }),
  )
  expect(JSON.stringify(details)).not.toContain(NEW.toString('base64'))
})

test('stores a new secret with the new key, which the other replica decrypts after the former key is gone', async () => {
  write('first', NEW)
  write('second', NEW)
  const set = await here.admin('PUT', '/api/dashboard/credentials', { name: 'later', secret: 'a-secret' })
  expect(set.status, set.text).toBe(200)
  const [row] = await here.sql(`select secret from credentials where name = 'later'`)
  expect(row?.['secret']).toMatchObject({ key_id: NEW_ID })
  const admin = caller(second.url, { authorization: `Bearer ${here.adminToken}` })
  expect((await admin('GET', '/api/dashboard/settings')).status).toBe(200)
})

test('a replica without the key does not start, and names the key that it needs', async () => {
  write('third', OLD)
  await expect(here.another({ MASTER_KEY_FILE: fileOf('third') })).rejects.toThrow(
    `Stored secrets are encrypted with master key ${NEW_ID}, but this process has ${OLD_ID}.`,
  )
})

test('a start with the new key and the root presents a certificate of the same certificate authority', async () => {
  expect(readFileSync(fileOf('first'), 'utf8')).toMatch(/^root /)
  const restarted = await here.another({ MASTER_KEY_FILE: fileOf('first'), TLS_HOSTS: 'localhost' })
  const { caPem: ca } = createServerCa(createKeyring(OLD), Date.now())
  const socket = connect({ port: restarted.port, host: '127.0.0.1', servername: 'localhost', ca })
  await once(socket, 'secureConnect')
  expect(socket.authorized).toBe(true)
  socket.destroy()
  await openSealedRows(here.sql, createKeyring({ root: OLD, keys: [NEW] }))
})
