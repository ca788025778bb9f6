import { existsSync, readdirSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { ChaperoneError } from '../../../core/errors.ts'
import { emptyTable, loadRows, loadSequence, schemaOf } from '../../db/dump.ts'
import type { Db, Query } from '../../db/query.ts'
import { migrate } from '../../db/schema/migrate.ts'
import { knownSchemas } from '../../db/schema/migration-files.ts'
import { usageError } from '../arguments.ts'
import { type Command, EXIT, flag, type Invocation, text } from '../command.ts'
import { type DataFolder, prepareDataFolder } from '../state/data-folder.ts'
import { lockFolder } from '../state/folder-lock.ts'
import { type ArchiveEntry, type ArchiveHeader, readArchive } from './archive.ts'
import { withDatabase, withStartedDatabase } from './database.ts'
import { MASTER_KEY_PATH, masterKeyEntry, restoreFile } from './installation-files.ts'
import { environmentKey, fileKey, type NamedKeys } from './master-key.ts'

export const restore: Command = {
  name: 'restore',
  summary: 'Restore a backup to an empty data folder',
  usage: ['restore FILE [--master-key FILE] [--data DIR]'],
  details:
    'Overwrites nothing: a data folder or a database that is not empty is refused. A backup without the master key requires the key of\n' +
    'the original installation (keys/master.key) in --master-key, MASTER_KEY_FILE or MASTER_KEY.',
  maxArguments: Number.POSITIVE_INFINITY,
  options: {
    'master-key': {
      type: 'string',
      value: 'FILE',
      help: 'master key of the backup, which is stored as keys/master.key',
    },
  },
  examples: [['chaperone restore chaperone.backup --master-key master.key --data DIR', 'restore a backup']],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const [name, ...others] = invocation.positionals
  if (name === undefined || others.length > 0)
    throw usageError(restore, 'Give one file name: chaperone restore FILE.')
  const { folder, env, terminal, cwd } = invocation
  const file = resolve(cwd, name)
  const header = await headerOf(file)
  const given = text(invocation, 'master-key')
  const key = given === undefined ? null : fileKey(resolve(cwd, given), '--master-key')
  refuseNonEmpty(folder)
  refuseOtherKey(file, header, key ?? environmentKey(env))
  const rows = await intoFolder(folder, env, { file, header, key })
  if (flag(invocation, 'json'))
    terminal.print(JSON.stringify({ data: folder.root, rows, created_at: header.created_at }))
  else {
    terminal.print(`Restored ${rows} rows, as of ${header.created_at}, into ${folder.root}.`)
    terminal.print(`Start Chaperone: chaperone up --data ${folder.root}`)
  }
  return EXIT.ok
}

async function headerOf(file: string): Promise<ArchiveHeader> {
  if (!existsSync(file))
    throw new ChaperoneError('conflict', { detail: `The file ${file} does not exist. Check the path.` })
  let header: ArchiveHeader | undefined
  // The backup is read completely before the restore writes anything, so that a truncated backup changes nothing.
  for await (const line of readArchive(file)) if (line.kind === 'header') header ??= line
  if (header === undefined)
    throw new ChaperoneError('conflict', {
      detail: `${file} is not a backup of Chaperone. Give a file that chaperone backup wrote.`,
    })
  const known = await knownSchemas()
  if (header.schema.every((number) => known.includes(number))) return header
  throw new ChaperoneError('conflict', {
    detail: `${file} was created by Chaperone ${header.program}, which is newer than this version. Restore it with that version.`,
  })
}

/**
 * Throws `conflict` unless the given keys can restore the backup. The keys must include every key that encrypts
 * credentials in the backup, and must have the same root key. The restore calls this function before its first write.
 */
function refuseOtherKey(file: string, header: ArchiveHeader, given: NamedKeys | null): void {
  if (given === null && header.includes_master_key) return
  const { master_key_id: newest, master_key_ids: wanted = [newest], root_key_id: rootId = newest } = header
  const missing = given === null ? wanted : wanted.filter((id) => !given.ids.includes(id))
  if (missing.length > 0) throw missingKey(file, missing, given)
  if (given !== null && given.rootId !== rootId) throw otherRoot(file, rootId, given.rootId)
}

function missingKey(file: string, missing: readonly string[], given: NamedKeys | null): ChaperoneError {
  const what = `The credentials in ${file} are encrypted with master key ${missing.join(' and ')}`
  const detail =
    given === null
      ? `${what}, which the file does not include. Nothing was changed.\nGive the file keys/master.key of the original installation, as it was at the time of the backup, with --master-key FILE.`
      : `${what}, but the given ${given.ids.length === 1 ? 'key is' : 'keys are'} ${given.ids.join(' and ')}. Nothing was changed.\nGive the file keys/master.key of the original installation, as it was at the time of the backup.`
  return new ChaperoneError('conflict', { detail })
}

function otherRoot(file: string, wanted: string, given: string): ChaperoneError {
  return new ChaperoneError('conflict', {
    detail: `The certificate authorities of ${file} are derived from key ${wanted}, but the first given key is ${given}. Nothing was changed.\nGive the whole file keys/master.key of the original installation, including its line "root".`,
  })
}

function refuseNonEmpty(folder: DataFolder): void {
  const entries = existsSync(folder.root) ? readdirSync(folder.root) : []
  if (entries.length === 0) return
  throw new ChaperoneError('conflict', {
    detail:
      `${folder.root} is not empty (${entries.slice(0, 3).join(', ')}). Nothing was changed.\n` +
      'Restore to another folder with --data DIR, or move this folder first.',
  })
}

type Backup = {
  readonly file: string
  readonly header: ArchiveHeader
  /** Key from the option `--master-key`, which the restore stores in the data folder; null without the option. */
  readonly key: NamedKeys | null
}

/** Restores the files and the database. A failed restore empties the data folder. */
async function intoFolder(folder: DataFolder, env: NodeJS.ProcessEnv, backup: Backup): Promise<number> {
  prepareDataFolder(folder)
  const lock = await lockFolder(folder.lock)
  try {
    await writeFiles(folder, env, backup)
    const load = (db: Db) => loadDatabase(db, backup)
    return await (env['DATABASE_URL'] ? withDatabase(folder, env, load) : withStartedDatabase(folder, load))
  } catch (error) {
    for (const name of readdirSync(folder.root))
      rmSync(resolve(folder.root, name), { recursive: true, force: true })
    throw unloadable(backup.file, error)
  } finally {
    lock.release()
  }
}

async function writeFiles(
  folder: DataFolder,
  env: NodeJS.ProcessEnv,
  { file, header, key }: Backup,
): Promise<void> {
  if (key !== null) restoreFile(folder, masterKeyEntry(key))
  for await (const line of readArchive(file)) {
    if (line.kind === 'file' && (key === null || line.path !== MASTER_KEY_PATH)) restoreFile(folder, line)
  }
  // The header of a backup can name a master key that the backup does not contain.
  if (environmentKey(env) === null) refuseOtherKey(file, header, fileKey(folder.masterKey, 'The backup'))
}

function unloadable(file: string, cause: unknown): unknown {
  if (cause instanceof ChaperoneError) return cause
  const why = cause instanceof Error ? cause.message : String(cause)
  return new ChaperoneError('conflict', {
    detail: `${file} could not be restored (${why}). Nothing was changed. Try another backup.`,
    cause,
  })
}

async function loadDatabase(db: Db, { file, header }: Backup): Promise<number> {
  if ((await schemaOf(db)).length > 0) {
    throw new ChaperoneError('conflict', {
      detail:
        'The database of DATABASE_URL is not empty. Nothing was changed. Set DATABASE_URL to an empty database.',
    })
  }
  await migrate(db, { only: (number) => header.schema.includes(number) })
  return db.tx(async (q) => {
    await q.query("set local statement_timeout = '10min'; set local idle_in_transaction_session_timeout = 0")
    const loader = createLoader(q)
    for await (const line of readArchive(file)) await loader.take(line)
    if (header.schema.includes(GRANTS_MIGRATION)) await endGrants(q)
    return loader.rows()
  })
}

/** Number of the migration that adds the table of grants. */
const GRANTS_MIGRATION = 5

/** Revokes the grants of a backup, because their uses and revocations since the backup are unknown. */
async function endGrants(q: Query): Promise<void> {
  await q.query(
    `update permission_grants set revoked_at = clock_timestamp(), revoked_by = 'restore of a backup'
     where revoked_at is null and expires_at > clock_timestamp()`,
    [],
  )
}

function createLoader(q: Query) {
  let table: Extract<ArchiveEntry, { kind: 'table' }>['table'] | undefined
  let rows = 0
  return {
    rows: () => rows,
    async take(line: ArchiveEntry): Promise<void> {
      if (line.kind === 'sequence') await loadSequence(q, line.sequence)
      if (line.kind === 'table') {
        table = line.table
        await emptyTable(q, table.name)
      }
      if (line.kind !== 'rows' || table === undefined) return
      await loadRows(q, table, line.text)
      rows += line.count
    },
  }
}
