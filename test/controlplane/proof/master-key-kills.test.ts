import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createKeyring } from '../../../controlplane/crypto/keyring.ts'
import { masterKeyId, parseMasterKeys } from '../../../controlplane/crypto/master-keys.ts'
import { type DurableInstallation, startDurableInstallation } from '../../support/durable-installation.ts'
import { eventually } from '../../support/eventually.ts'
import { IS_FULL, size } from '../../support/proof.ts'
import { insertSealedRows, openSealedRows, SEALED_ROWS, tablesWithKey } from '../../support/sealed-rows.ts'

/** Tables with encrypted values: those of the rows, of which one has two, and `signing_keys`. */
const TABLES = SEALED_ROWS - 1 + 1
/** Writes of a process until it is killed. */
const WRITES = size(5, 1)
const ROOT = join(import.meta.dirname, '../../..')
const PRELOAD = pathToFileURL(join(ROOT, 'test/support/kill-after-writes.ts')).href

let here: DurableInstallation
let folder: string
let file: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chaperone-rotation-'))
  file = join(folder, 'master.key')
  writeFileSync(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  here = await startDurableInstallation({ LOG_LEVEL: 'info', MASTER_KEY: '', MASTER_KEY_FILE: file })
  const plane = await here.start()
  await plane.stop()
  await insertSealedRows(here.sql, keyring())
}, 120_000)
afterAll(async () => {
  await here?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const keyring = () => createKeyring(parseMasterKeys(readFileSync(file, 'utf8'), 'file'))

type Ended = { readonly code: number | null; readonly signal: string | null; readonly output: string }

/** Runs `chaperone keys rotate`, which is killed after a number of writes; null: it is not killed. */
function rotate(writes: number | null): Promise<Ended> {
  const program = [join(ROOT, 'controlplane/cli/main.ts'), 'keys', 'rotate', '--data', folder]
  const preload = writes === null ? [] : ['--import', PRELOAD]
  const env = {
    ...process.env,
    XDG_STATE_HOME: folder,
    DATABASE_URL: here.databaseUrl,
    MASTER_KEY_FILE: file,
  }
  const child = spawn(process.execPath, [...preload, ...program], {
    env: { ...env, KILL_AFTER_WRITES: String(writes) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += String(chunk)
    })
  return new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal, output })))
}

const events = async (change: string) =>
  here.sql(`select details from audit_events where details->>'change' = $1`, [change])

test(`a rotation that is killed after every ${WRITES} writes goes on where it was: every secret decrypts after each kill, and the rotation ends`, async () => {
  const [first] = keyring().keyIds
  expect(await tablesWithKey(here.sql, first)).toHaveLength(TABLES)
  const derived = keyring().derive('anything')
  let kills = 0
  let ended = await rotate(WRITES)
  for (; ended.signal === 'SIGKILL'; ended = await rotate(WRITES)) {
    kills += 1
    await openSealedRows(here.sql, keyring())
    // Killed after the last write: the former key is gone, and another run would begin the next rotation.
    if (keyring().keyIds.length === 1 && keyring().keyIds[0] !== first) break
    expect(kills, ended.output).toBeLessThan(100)
    if (!IS_FULL && kills !== 2) continue
    const plane = await here.start({ MASTER_KEY_FILE: copied(kills) })
    await here.admin(plane, 'GET', '/api/dashboard/settings')
    await plane.kill()
    // The report of a killed control plane counts as that of a running one for 10 s.
    await here.sql('delete from replica_keys')
    await here.sql('delete from replicas')
  }
  expect(ended.code === 0 || ended.signal === 'SIGKILL', ended.output).toBe(true)
  // A full run is killed after each write: the file twice, the start and the end of the rotation, and each value.
  expect(kills).toBeGreaterThanOrEqual(IS_FULL ? SEALED_ROWS + 4 : 3)
  const [now, ...others] = keyring().keyIds
  expect(others).toEqual([])
  expect(now).not.toBe(first)
  expect(new Set(await openSealedRows(here.sql, keyring()))).toEqual(new Set([now]))
  expect(await tablesWithKey(here.sql, first)).toEqual([])
  expect(keyring().derive('anything')).toEqual(derived)
  expect(masterKeyId(parseMasterKeys(readFileSync(file, 'utf8'), 'file').root)).toBe(first)
  expect(await events('master_key_rotation_started')).toEqual([
    { details: expect.objectContaining({ key_id: now, former_key_id: first }) },
  ])
  expect(await events('master_key_rotation_completed')).toHaveLength(1)
  const plane = await here.start()
  expect(await here.admin(plane, 'GET', '/api/dashboard/settings')).toMatchObject({})
  await plane.stop()
}, 900_000)

/** A copy of the key file as it is, so that the control plane does not follow what comes. */
function copied(number: number): string {
  const copy = join(folder, `copy-${number}.key`)
  writeFileSync(copy, readFileSync(file), { mode: 0o600 })
  return copy
}

test('a running control plane that is killed during its rotation continues after its next start', async () => {
  const [before] = keyring().keyIds
  const added = randomBytes(32)
  writeFileSync(file, `${readFileSync(file, 'utf8')}${added.toString('base64')}\n`)
  const id = masterKeyId(added)
  for (let kills = 0; kills < size(1, 10); kills++) {
    const plane = await here.start({ ONLY_REPLICA: 'on' })
    await eventually('a value with the new key', async () => {
      const ids = await openSealedRows(here.sql, keyring())
      return ids.includes(id) ? true : null
    })
    await plane.kill()
    await openSealedRows(here.sql, keyring())
  }
  const plane = await here.start({ ONLY_REPLICA: 'on' })
  await eventually('the end of the rotation', async () => {
    const [key] = await here.sql('select key_id, completed_at from master_keys order by number desc limit 1')
    return key?.['key_id'] === id && key['completed_at'] !== null ? true : null
  })
  expect(await tablesWithKey(here.sql, before)).toEqual([])
  expect(new Set(await openSealedRows(here.sql, keyring()))).toEqual(new Set([id]))
  await plane.stop()
}, 600_000)
