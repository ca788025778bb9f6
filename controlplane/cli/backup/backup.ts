import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { ChaperoneError } from '../../../core/errors.ts'
import { dump, schemaOf } from '../../db/dump.ts'
import type { Db } from '../../db/query.ts'
import { VERSION } from '../../version.ts'
import { usageError } from '../arguments.ts'
import { type Command, EXIT, flag, type Invocation } from '../command.ts'
import type { DataFolder } from '../state/data-folder.ts'
import { type ArchiveEntry, writeArchive } from './archive.ts'
import { withDatabase } from './database.ts'
import { installationFiles, masterKeyEntry } from './installation-files.ts'
import { installationKey, type NamedKeys } from './master-key.ts'

export const backup: Command = {
  name: 'backup',
  summary: 'Write the database, keys and manifests of an installation to one file',
  usage: ['backup FILE'],
  details:
    'Works whether Chaperone runs or not. The file has mode 0600. Stored credentials stay encrypted, and the master key is not included:\n' +
    'keep keys/master.key in another place, because restore requires it. Tokens, the private key of the CA and the manifests are included\n' +
    'in clear text. Records that the gateway has not uploaded are not included.',
  maxArguments: Number.POSITIVE_INFINITY,
  options: {
    'include-master-key': {
      type: 'boolean',
      help: 'include the master key; the file alone then decrypts every credential',
    },
  },
  examples: [
    ['chaperone backup chaperone.backup', 'back up the data folder'],
    [
      'chaperone restore chaperone.backup --master-key master.key --data DIR',
      'restore the backup to an empty data folder',
    ],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const [name, ...others] = invocation.positionals
  if (name === undefined || others.length > 0)
    throw usageError(backup, 'Give one file name: chaperone backup FILE.')
  const { folder, env, terminal, cwd } = invocation
  refuseEmpty(folder, env)
  const file = resolve(cwd, name)
  const key = installationKey(folder, env)
  const included = flag(invocation, 'include-master-key') ? key : null
  const rows = await withDatabase(folder, env, (db) => writeBackup(db, { folder, env, file, key, included }))
  const bytes = statSync(file).size
  if (flag(invocation, 'json')) {
    terminal.print(
      JSON.stringify({
        file,
        bytes,
        rows,
        master_key_id: newestOf(key),
        includes_master_key: included !== null,
      }),
    )
  } else {
    terminal.print(`Wrote ${file}: ${rows} rows, ${Math.ceil(bytes / 1024)} KiB. Keep the file secret.`)
    terminal.print(
      included === null
        ? `Master key ${key.ids.join(' and ')} is not included. Keep a copy of ${folder.masterKey} in another place.`
        : `Master key ${key.ids.join(' and ')} is included: the file alone decrypts every credential.`,
    )
  }
  return EXIT.ok
}

function refuseEmpty(folder: DataFolder, env: NodeJS.ProcessEnv): void {
  if (existsSync(folder.masterKey) && (env['DATABASE_URL'] || existsSync(folder.postgres))) return
  throw new ChaperoneError('conflict', {
    detail: `There is no installation in ${folder.root}. Give its data folder with --data DIR.`,
  })
}

type BackupPlan = {
  readonly folder: DataFolder
  readonly env: NodeJS.ProcessEnv
  readonly file: string
  readonly key: NamedKeys
  /** The master keys, if the backup file includes them; null otherwise. */
  readonly included: NamedKeys | null
}

function newestOf({ ids }: NamedKeys): string {
  return ids.at(-1) ?? ''
}

async function writeBackup(db: Db, { folder, env, file, key, included }: BackupPlan): Promise<number> {
  const schema = [...(await schemaOf(db))]
  let rows = 0
  await writeArchive(file, async (write) => {
    const header = { kind: 'header', format: 'chaperone-backup', version: 2 } as const
    const ids = { master_key_id: newestOf(key), master_key_ids: [...key.ids], root_key_id: key.rootId }
    const about = { ...ids, includes_master_key: included !== null }
    await write({ ...header, ...about, program: VERSION, created_at: new Date().toISOString(), schema })
    for (const line of installationFiles(folder)) await write(line)
    if (included !== null) await write(masterKeyEntry(included))
    await dump(db, async (part) => {
      if (part.kind === 'rows') rows += part.count
      await write(part as ArchiveEntry)
    })
    refuseNewKey(key, installationKey(folder, env))
  })
  return rows
}

/**
 * Throws `conflict` when a rotation added a master key during the backup. In this case, rows may be encrypted with a
 * key that the header of the backup does not name.
 */
function refuseNewKey(before: NamedKeys, after: NamedKeys): void {
  if (after.ids.every((id) => before.ids.includes(id))) return
  throw new ChaperoneError('conflict', {
    detail:
      'A rotation of the master key began during the backup. No file was written. Start the backup again.',
  })
}
