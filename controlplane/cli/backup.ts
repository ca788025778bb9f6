import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { ChaperoneError } from '../../core/errors.ts'
import { dump, schemaOf } from '../store/dump.ts'
import type { Db } from '../store/query.ts'
import { VERSION } from '../version.ts'
import { usageError } from './arguments.ts'
import { type ArchiveLine, writeArchive } from './backup/archive.ts'
import { withDatabase } from './backup/database.ts'
import { keptFiles } from './backup/files.ts'
import { type Command, EXIT, flag, type Invocation } from './command.ts'
import type { DataFolder } from './data-folder.ts'

export const backup: Command = {
  name: 'backup',
  summary: 'Writes database, keys and manifests of an installation into one file (mode 0600).',
  usage: ['backup FILE'],
  details:
    'Works while Chaperone runs and while it does not. The file holds every credential and the key they are encrypted\n' +
    'with: keep it as you would keep the data folder. Records that the gateway has not uploaded yet are not in it.',
  words: Number.POSITIVE_INFINITY,
  options: {},
  examples: [
    ['chaperone backup chaperone.backup', 'everything of this data folder'],
    ['chaperone restore chaperone.backup --data DIR', 'brings it back on an empty one'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const [name, ...others] = invocation.positionals
  if (name === undefined || others.length > 0) throw usageError(backup, 'One file name, please.')
  const { folder, env, terminal, cwd } = invocation
  refuseEmpty(folder, env)
  const file = resolve(cwd, name)
  const rows = await withDatabase(folder, env, (db) => writeBackup(db, folder, file))
  const bytes = statSync(file).size
  if (flag(invocation, 'json')) terminal.print(JSON.stringify({ file, bytes, rows }))
  else
    terminal.print(
      `Wrote ${file}: ${rows} rows and the keys, ${Math.ceil(bytes / 1024)} KiB. Keep it secret.`,
    )
  return EXIT.ok
}

function refuseEmpty(folder: DataFolder, env: NodeJS.ProcessEnv): void {
  if (existsSync(folder.masterKey) && (env['DATABASE_URL'] || existsSync(folder.postgres))) return
  throw new ChaperoneError('conflict', {
    detail: `There is no installation in ${folder.root}: name its folder with --data DIR.`,
  })
}

async function writeBackup(db: Db, folder: DataFolder, file: string): Promise<number> {
  const schema = [...(await schemaOf(db))]
  let rows = 0
  await writeArchive(file, async (write) => {
    const header = { kind: 'header', format: 'chaperone-backup', version: 1 } as const
    await write({ ...header, program: VERSION, created_at: new Date().toISOString(), schema })
    for (const line of keptFiles(folder)) await write(line)
    await dump(db, async (part) => {
      if (part.kind === 'rows') rows += part.count
      await write(part as ArchiveLine)
    })
  })
  return rows
}
