import { existsSync, readFileSync } from 'node:fs'
import { pino } from 'pino'
import { ChaperoneError } from '../../../core/errors.ts'
import { createKeyring } from '../../crypto/keyring.ts'
import { getOrg } from '../../db/orgs.ts'
import type { Db } from '../../db/query.ts'
import { createRotation } from '../../features/master-key/rotation.ts'
import { keyStatus, withMasterKeysLocked } from '../../features/master-key/service.ts'
import { verbOf } from '../arguments.ts'
import { withDatabase } from '../backup/database.ts'
import { environmentKey, installationKey, namedKeys } from '../backup/master-key.ts'
import { refuseInsideCapture } from '../capture/refuse-inside-capture.ts'
import { requireInstallationKey } from '../client/installation-key.ts'
import { type Command, EXIT, flag, type Invocation } from '../command.ts'
import { table } from '../terminal/table.ts'
import { replaceMasterKeyFile } from './master-key-file.ts'
import { type KeyStore, progressLine, rotatedLine, rotateKeys } from './rotate-keys.ts'

export const keys: Command = {
  name: 'keys',
  summary: 'Rotate the master key, and show which key encrypts stored secrets',
  usage: ['keys status', 'keys rotate'],
  details:
    'rotate adds a key to the master key file, encrypts every stored secret with the new key, and then removes the\n' +
    'former key from the file. The command works whether Chaperone runs or not; after an interruption, run it again. Keep a copy of the\n' +
    'file from before and after the rotation: a backup can be restored only with the keys of its time.\n' +
    'Refused inside chaperone run --capture. In a cluster: kubectl chaperone keys.',
  maxArguments: 1,
  options: {},
  examples: [
    ['chaperone keys rotate', 'replace the master key of this installation'],
    ['chaperone keys status', 'list the keys by id, with the number of secrets that each encrypts'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const { verb } = verbOf(keys, invocation.positionals, { status: null, rotate: null }, 'status')
  refuseInsideCapture(`keys ${verb}`)
  const { folder, env } = invocation
  if (!env['DATABASE_URL'] && !existsSync(folder.postgres)) {
    throw new ChaperoneError('conflict', {
      detail: `There is no installation in ${folder.root}. Give its data folder with --data DIR.`,
    })
  }
  if (!env['DATABASE_URL']) requireInstallationKey(env, folder.root)
  return await withDatabase(folder, env, async (db) => {
    await requireTable(db)
    return verb === 'status' ? await printStatus(invocation, db) : await rotate(invocation, db)
  })
}

async function requireTable(db: Db): Promise<void> {
  const { rows } = await db.query<{ exists: boolean }>(
    `select to_regclass('master_keys') is not null as exists`,
  )
  if (rows[0]?.exists === true) return
  throw new ChaperoneError('conflict', {
    detail:
      'The database has the schema of an earlier version of Chaperone. Start Chaperone once, then run the command again.',
  })
}

async function printStatus(invocation: Invocation, db: Db): Promise<number> {
  const { folder, env, terminal } = invocation
  const status = await keyStatus(db, installationKey(folder, env).ids)
  if (flag(invocation, 'json')) {
    terminal.print(JSON.stringify(status))
    return EXIT.ok
  }
  const ids = [...new Set([...status.keys, ...Object.keys(status.secrets)])]
  const rows = ids.map((id) => [
    id,
    id === status.sealing_key ? 'encrypts' : status.keys.includes(id) ? 'decrypts' : 'MISSING',
    String(status.secrets[id] ?? 0),
  ])
  for (const line of table(['KEY', 'STATE', 'SECRETS'], rows)) terminal.print(line)
  if (!status.is_complete) terminal.print(progressLine(status))
  return EXIT.ok
}

async function rotate(invocation: Invocation, db: Db): Promise<number> {
  const { terminal } = invocation
  const isJson = flag(invocation, 'json')
  const store = fileStore(invocation, db)
  const { id: orgId } = await getOrg(db)
  const log = pino({ level: 'silent' })
  const clock = { monotonicMs: () => performance.now() }
  const keyring = createKeyring(namedKeys(await store.read(), store.name).content)
  const rotation = createRotation({ db, orgId, keyring, log, clock })
  const rotated = await rotateKeys({
    store,
    async advance(text) {
      const { ids, content } = namedKeys(text, store.name)
      keyring.reload(content)
      // Advances the rotation only when no replica runs, because a running control plane advances the rotation
      // itself.
      await rotation.advance(({ replicas }) => replicas.length === 0)
      return await keyStatus(db, ids)
    },
    print: isJson ? () => undefined : terminal.print,
    pollMs: 250,
  })
  terminal.print(isJson ? JSON.stringify(rotated) : rotatedLine(rotated, store.name))
  return EXIT.ok
}

function fileStore({ folder, env }: Invocation, db: Db): KeyStore {
  if (env['MASTER_KEY'])
    throw new ChaperoneError('conflict', {
      detail:
        'The master key is in the variable MASTER_KEY, which this command cannot change. Write the key to a file, set MASTER_KEY_FILE, and run the command again.',
    })
  const file = environmentKey(env) === null ? folder.masterKey : (env['MASTER_KEY_FILE'] ?? '')
  return {
    name: file,
    read: async () => readFileSync(file, 'utf8'),
    replace: (change) => withMasterKeysLocked(db, async () => replaceMasterKeyFile(file, change)),
  }
}
