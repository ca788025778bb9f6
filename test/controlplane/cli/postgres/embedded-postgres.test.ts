import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { installedBinaries } from '../../../../controlplane/cli/postgres/binaries.ts'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../../controlplane/cli/postgres/embedded-postgres.ts'
import { processIdentity } from '../../../../controlplane/cli/state/process-identity.ts'
import { SEED_PASSWORD, seedPostgres } from '../../../support/cluster-template.ts'
import { databasesFolder } from '../../../support/memory-folder.ts'

let root: string
let dir: string
const servers: EmbeddedPostgres[] = []
const isRoot = process.getuid?.() === 0

beforeEach(() => {
  // Mode 0700, as of /root or mktemp -d, which other accounts cannot traverse.
  root = mkdtempSync(join(databasesFolder(), 'chaperone-cli-'))
  dir = join(root, 'postgres')
})

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()))
  rmSync(root, { recursive: true, force: true })
})

/** Copies the result of a first start, which takes a second, for tests that are not about the first start. */
function startSeeded(options: Parameters<typeof start>[0] = {}) {
  seedPostgres(dir)
  return start(options)
}

const PASSWORD = { value: SEED_PASSWORD, isNew: false }

async function start(options: Partial<Parameters<typeof startEmbeddedPostgres>[0]> = {}) {
  const server = await startEmbeddedPostgres({
    dir,
    password: PASSWORD,
    logFile: join(root, 'postgres.log'),
    ...options,
  })
  servers.push(server)
  return server
}

async function query(url: string, text: string) {
  const client = new pg.Client(url)
  await client.connect()
  const { rows } = await client.query(text).finally(() => client.end())
  return rows as Record<string, unknown>[]
}

async function untilGone(pid: number, timeoutMs = 60_000) {
  const deadline = performance.now() + timeoutMs
  while (processIdentity(pid) !== undefined) {
    if (performance.now() > deadline) throw new Error(`process ${pid} is still there`)
    await delay(20)
  }
}

describe('the embedded PostgreSQL', () => {
  it('creates a role that owns its database and is not a superuser, and no other role can log in', async () => {
    const { url, port, created } = await start()
    expect(created).toBe(true)
    const [role] = await query(
      url,
      'select rolname, rolsuper, rolcreaterole, rolcreatedb from pg_roles where rolname = current_user',
    )
    expect(role).toEqual({ rolname: 'chaperone', rolsuper: false, rolcreaterole: false, rolcreatedb: false })
    const [owner] = await query(
      url,
      'select pg_get_userbyid(datdba) as owner from pg_database where datname = current_database()',
    )
    expect(owner).toEqual({ owner: 'chaperone' })
    await expect(
      query(`postgres://postgres:${SEED_PASSWORD}@127.0.0.1:${port}/postgres`, 'select 1'),
    ).rejects.toThrow(/pg_hba/)
    await expect(query(`postgres://chaperone:wrong@127.0.0.1:${port}/chaperone`, 'select 1')).rejects.toThrow(
      /password/,
    )
  })

  /** Together, because each start costs a second of CPU time. */
  it('keeps fsync on, lets the role revoke its own rights permanently, and resumes with its data and a new password', async () => {
    const first = await startSeeded()
    expect(await query(first.url, 'show fsync')).toEqual([{ fsync: 'on' }])
    expect(await query(first.url, 'show synchronous_commit')).toEqual([{ synchronous_commit: 'on' }])
    await query(
      first.url,
      'create table events (id int); revoke update, delete on events from chaperone; insert into events values (7)',
    )
    await expect(query(first.url, 'delete from events')).rejects.toThrow(/permission denied/)
    await first.stop()
    const second = await start({ password: { value: 'other456', isNew: true } })
    expect(second.created).toBe(false)
    expect(second.url).toContain('other456')
    expect(await query(second.url, 'select id from events')).toEqual([{ id: 7 }])
    await expect(query(second.url, 'delete from events')).rejects.toThrow(/permission denied/)
  })

  it('stops a server that an earlier run left in the data directory, and uses the directory', async () => {
    const earlier = await startSeeded()
    const second = await start()
    expect(processIdentity(earlier.pid)).toBeUndefined()
    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it('ignores a pid file whose pid was reused', async () => {
    await (await startSeeded()).stop()
    const lines = [String(process.pid), dir, '0', '1', '', '127.0.0.1', '', 'ready']
    writeFileSync(join(dir, 'postmaster.pid'), lines.join('\n'))
    const { url } = await start()
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it('creates the cluster again when an earlier set-up was interrupted', async () => {
    mkdirSync(`${dir}.new`)
    writeFileSync(join(`${dir}.new`, 'PG_VERSION'), '18\n')
    const { url } = await start()
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  it('ends when the process that started it is killed with -9', async () => {
    seedPostgres(dir)
    const module = new URL('../../../../controlplane/cli/postgres/embedded-postgres.ts', import.meta.url).href
    const options = { dir, password: PASSWORD, logFile: join(root, 'postgres.log') }
    const script = `const { startEmbeddedPostgres } = await import(${JSON.stringify(module)})
      console.log((await startEmbeddedPostgres(${JSON.stringify(options)})).pid)
      setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [chunk] = (await once(child.stdout, 'data')) as [Buffer]
    const pid = Number(String(chunk))
    expect(processIdentity(pid)).toBeDefined()
    child.kill('SIGKILL')
    await untilGone(pid)
    expect(readFileSync(join(root, 'postgres.log'), 'utf8')).toContain('database system is shut down')
  })

  it('reports a data directory of another major version, and the remedy', async () => {
    await (await startSeeded()).stop()
    writeFileSync(join(dir, 'PG_VERSION'), '14\n')
    await expect(start()).rejects.toThrow(/incompatible[\s\S]*another folder with --data/)
  })

  it('reports a port that is in use, and the remedy', async () => {
    const other = await startSeeded()
    const secondDir = join(root, 'second')
    seedPostgres(secondDir)
    await expect(start({ dir: secondDir, port: other.port })).rejects.toThrow(
      /did not start[\s\S]*could not bind/,
    )
  })

  it('reports a platform without binaries, and the remedy', () => {
    expect(() => installedBinaries('sunos', 'sparc')).toThrow(/sunos-sparc[\s\S]*DATABASE_URL/)
  })

  it.runIf(isRoot)('runs under another account, below folders that only root can enter', async () => {
    expect(statSync(root).mode & 0o077).toBe(0)
    const { pid } = await start()
    expect(statSync(`/proc/${pid}`).uid).not.toBe(0)
    expect(statSync(dir).uid).toBe(statSync(`/proc/${pid}`).uid)
  })

  it.runIf(isRoot)('copies binaries that only root can execute once, to a folder of root', async () => {
    const installed = installedBinaries()
    const hidden = { root: join(root, 'native'), version: `test-${process.pid}` }
    cpSync(installed.root, hidden.root, { recursive: true, verbatimSymlinks: true })
    const copy = join('/var/cache/chaperone-postgres', hidden.version)
    try {
      const first = await start({ binaries: hidden })
      expect(await query(first.url, 'select 1 as one')).toEqual([{ one: 1 }])
      await first.stop()
      const { mtimeMs, mode, uid } = statSync(copy)
      expect([uid, mode & 0o022]).toEqual([0, 0])
      await start({ binaries: hidden })
      expect(statSync(copy).mtimeMs).toBe(mtimeMs)
    } finally {
      await Promise.all(servers.splice(0).map((server) => server.stop()))
      rmSync(copy, { recursive: true, force: true })
    }
  })
})
