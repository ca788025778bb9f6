import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCli } from '../../../controlplane/cli/cli.ts'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../../controlplane/cli/postgres/embedded-postgres.ts'
import {
  type DataFolder,
  dataFolder,
  prepareDataFolder,
} from '../../../controlplane/cli/state/data-folder.ts'
import { lockFolder } from '../../../controlplane/cli/state/folder-lock.ts'
import { ensureSecrets } from '../../../controlplane/cli/up/installation-secrets.ts'
import { readConfig } from '../../../controlplane/config.ts'
import { createControlPlane } from '../../../controlplane/controlplane.ts'
import { knownSchemas } from '../../../controlplane/db/schema/migration-files.ts'
import { eventually } from '../../support/eventually.ts'
import { databasesFolder } from '../../support/memory-folder.ts'
import { at, caller } from '../routes/start.ts'

let root: string
let folder: DataFolder
const CREDENTIAL = 'ghp_canary_of_the_backup'

async function cli(...args: string[]) {
  const out: string[] = []
  const err: string[] = []
  const terminal = {
    print: (l: string) => void out.push(l),
    warn: (l: string) => void err.push(l),
    isInteractive: false,
  }
  const code = await runCli(args, { env: {}, cwd: root, terminal })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

/** The database and the control plane of a data folder, as `chaperone up` would start them. */
async function running<T>(
  of: DataFolder,
  work: (admin: ReturnType<typeof caller>, url: string) => Promise<T>,
): Promise<T> {
  const lock = await lockFolder(of.lock)
  const keys = ensureSecrets(of)
  const server: EmbeddedPostgres = await startEmbeddedPostgres({
    dir: of.postgres,
    password: keys.postgresPassword,
    logFile: join(of.logs, 'postgres.log'),
  })
  const config = readConfig({
    DATABASE_URL: server.url,
    MASTER_KEY_FILE: of.masterKey,
    ADMIN_TOKEN_FILE: of.adminToken,
    LOCAL_GATEWAY_TOKEN_FILE: of.enrolToken,
    APPROVALS: 'token',
    PORT: '0',
  })
  const plane = await createControlPlane(config, pino({ level: 'silent' }))
  try {
    return await work(caller(plane.url, { authorization: `Bearer ${keys.adminToken}` }), server.url)
  } finally {
    await plane.close()
    await server.stop()
    lock.release()
  }
}

async function rowsOf(url: string): Promise<Record<string, string[]>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
       and not relispartition and relpersistence = 'p' and relname <> 'schema_migrations' order by 1`,
    )
    const result: Record<string, string[]> = {}
    for (const { name } of tables) {
      const { rows } = await client.query<{ row: string }>(`select t::text as row from ${name} t order by 1`)
      result[name] = rows.map(({ row }) => row)
    }
    return result
  } finally {
    await client.end()
  }
}

beforeAll(() => {
  root = mkdtempSync(join(databasesFolder(), 'chaperone-backup-'))
  folder = dataFolder(join(root, 'first'))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

describe('backup and restore', () => {
  let before: Record<string, string[]>
  let agentKey: string

  beforeAll(async () => {
    prepareDataFolder(folder)
    mkdirSync(folder.manifests)
    writeFileSync(join(folder.manifests, '00-mine.yaml'), '# mine\n')
    before = await running(folder, async (admin, url) => {
      const made = await admin('POST', '/api/dashboard/setup', {
        agent: { name: 'kept', runtime: 'x', environment: 'production' },
        connectors: [{ type: 'codehost', token: CREDENTIAL, accessRule: 'read_only' }],
      })
      agentKey = at(made.body, 'api_key')
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      await eventually('the indexes', async () => {
        // PostgreSQL can end `ensure_traffic_days` as the victim of a deadlock with the build of an index.
        const { rows } = await client.query('select from schema_migrations')
        return rows.length === (await knownSchemas()).length || null
      })
      await client.query(`select ensure_traffic_days(array[(now() at time zone 'utc')::date])`)
      await client.query(
        `insert into traffic (id, time, seq, process_id, org_id, gateway, decision, method, latency_ms, overhead_ms,
           bytes_in, bytes_out, policies, transport)
         select 'rec_' || n, now() - make_interval(days => n), 9007199254740000 + n, 'proc', id, 'g', 'ALLOW', 'GET', 0.1 + n, 1e-7,
           0, 1, array['a,b', '"q"'], 'connect' from orgs, generate_series(0, 449, 50) n`,
      )
      await client.query(
        `insert into action_requests (id, org_id, agent_id, agent, status, action_spec, decision, connector)
         select 'act_x', id, 'agent_x', 'x', 'denied', '{"b": 1.0,  "a": "\\u00e9"}', '{"outcome":"deny"}', 'codehost' from orgs`,
      )
      await client.query(
        `insert into permission_grants (id, org_id, approval_id, gateway_id, agent, agent_id, action_type, any_target, parameters,
           exact, held_by, answers, max_uses, created_by, expires_at)
         select 'grt_x', o.id, 'apv_x', g.id, 'kept', 'agent_x', 'codehost.pr.merge', true, '{}', false, '{"policies":[]}', '[]', 2, 'ann',
           now() + interval '1 day' from orgs o, gateways g limit 1`,
      )
      await client.end()
      // While it runs: nothing is stopped for a backup.
      const done = await cli('backup', 'hot.backup', '--include-master-key', '--data', folder.root)
      expect(done).toMatchObject({ code: 0, err: '', out: expect.stringContaining('is included') })
      return rowsOf(url)
    })
  })

  test('write one file that only its owner may read, which holds rows, tokens and manifests, but no master key', async () => {
    const { code, out } = await cli('backup', 'cold.backup', '--data', folder.root, '--json')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({
      ...{ rows: expect.any(Number), bytes: expect.any(Number), includes_master_key: false },
      master_key_id: expect.stringMatching(/^[0-9a-f]{12}$/),
    })
    const file = join(root, 'cold.backup')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const lines = gunzipSync(readFileSync(file))
      .toString()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines[0]).toMatchObject({
      kind: 'header',
      format: 'chaperone-backup',
      version: 2,
      includes_master_key: false,
    })
    expect(lines.at(-1)).toEqual({ kind: 'end' })
    const paths = lines.filter(({ kind }) => kind === 'file').map(({ path }) => path)
    expect(paths).toEqual(expect.arrayContaining(['admin.token', 'manifests/00-mine.yaml']))
    expect(paths).not.toContain('keys/master.key')
    const key = readFileSync(folder.masterKey, 'utf8').trim()
    const forms = [
      key,
      Buffer.from(`${key}\n`).toString('base64'),
      Buffer.from(key, 'base64').toString('hex'),
    ]
    for (const form of forms) expect(gunzipSync(readFileSync(file)).toString()).not.toContain(form)
    expect(gunzipSync(readFileSync(join(root, 'hot.backup'))).toString()).toContain('"keys/master.key"')
    // Credentials stay sealed: the file alone opens none of them.
    expect(gunzipSync(readFileSync(file)).toString()).not.toContain(CREDENTIAL)
    expect(gunzipSync(readFileSync(file)).toString()).not.toContain(agentKey)
  })

  test.each(['hot.backup', 'cold.backup'])(
    'bring every row and key back from %s',
    async (name) => {
      const second = dataFolder(join(root, `from-${name}`))
      const key = name === 'cold.backup' ? ['--master-key', folder.masterKey] : []
      expect(await cli('restore', name, ...key, '--data', second.root)).toMatchObject({ code: 0, err: '' })
      for (const file of ['keys/master.key', 'keys/enrol.token', 'admin.token', 'manifests/00-mine.yaml']) {
        expect(readFileSync(join(second.root, file))).toEqual(readFileSync(join(folder.root, file)))
      }
      expect(statSync(second.masterKey).mode & 0o777).toBe(0o600)
      expect(statSync(second.keys).mode & 0o777).toBe(0o700)
      await running(second, async (admin, url) => {
        const after = await rowsOf(url)
        expect(Object.keys(after)).toEqual(Object.keys(before))
        const { permission_grants: grants = [], ...kept } = before
        expect(grants).toHaveLength(1)
        // The uses and revocations since the backup are unknown.
        const listed = await admin('GET', '/api/dashboard/grants')
        expect(at(listed.body, 'grants')).toMatchObject([
          { id: 'grt_x', status: 'revoked', revoked_by: 'restore of a backup' },
        ])
        for (const [table, rows] of Object.entries(kept)) {
          // A start may note something of its own; what was there is there.
          expect(after[table], table).toEqual(expect.arrayContaining(rows))
        }
        // The key fits: the sealed credential can be opened, and ids go on where they were.
        const permissions = await admin('GET', '/api/dashboard/permissions')
        expect(at<unknown[]>(permissions.body, 'permissions').length).toBeGreaterThan(10)
        const made = await admin('POST', '/api/dashboard/agents', {
          name: 'new',
          runtime: 'x',
          environment: 'staging',
        })
        expect(made.status).toBe(200)
        const client = new pg.Client({ connectionString: url })
        await client.connect()
        const { rows } = await client.query(`select max(id) as last, count(*) as n from audit_events`)
        await client.end()
        expect(Number(rows[0].last)).toBeGreaterThanOrEqual((before['audit_events'] ?? []).length + 1)
      })
    },
    60_000,
  )

  test('name the master key that is missing or wrong before anything is written', async () => {
    const target = join(root, 'without-key')
    writeFileSync(join(root, 'other.key'), `${'ab'.repeat(32)}\n`)
    writeFileSync(join(root, 'short.key'), 'abcd\n')
    const [header = ''] = gunzipSync(readFileSync(join(root, 'cold.backup')))
      .toString()
      .split('\n')
    const { master_key_id: id } = JSON.parse(header)
    const lying = gunzipSync(readFileSync(join(root, 'cold.backup')))
      .toString()
      .replace('"includes_master_key":false', '"includes_master_key":true')
    writeFileSync(join(root, 'lying.backup'), gzipSync(lying))
    const cases: ReadonlyArray<readonly [args: readonly string[], message: RegExp]> = [
      [['cold.backup'], new RegExp(`encrypted with master key ${id}, which the file does not include`)],
      [
        ['cold.backup', '--master-key', 'other.key'],
        new RegExp(`encrypted with master key ${id}, but the given key`),
      ],
      [['cold.backup', '--master-key', 'short.key'], /does not contain 32 bytes/],
      [['cold.backup', '--master-key', 'nowhere.key'], /does not exist/],
      [
        ['hot.backup', '--master-key', 'other.key'],
        new RegExp(`encrypted with master key ${id}, but the given key`),
      ],
      [['lying.backup'], /does not exist/],
    ]
    for (const [args, message] of cases) {
      const { code, err } = await cli('restore', ...args, '--data', target)
      expect([args, code, err]).toEqual([args, 1, expect.stringMatching(message)])
      expect(existsSync(target) ? readdirSync(target) : []).toEqual([])
    }
  })

  test('never write over anything', async () => {
    const content = readFileSync(join(root, 'cold.backup'))
    expect(await cli('backup', 'cold.backup', '--data', folder.root)).toMatchObject({
      code: 1,
      err: expect.stringContaining('already exists'),
    })
    expect(readFileSync(join(root, 'cold.backup'))).toEqual(content)
    const keys = readFileSync(folder.masterKey)
    expect(await cli('restore', 'cold.backup', '--data', folder.root)).toMatchObject({
      code: 1,
      err: expect.stringContaining('is not empty'),
    })
    expect(readFileSync(folder.masterKey)).toEqual(keys)
  })

  test('refuse a file that is not a backup, is truncated or leaves the folder, and change nothing', async () => {
    const whole = gunzipSync(readFileSync(join(root, 'hot.backup'))).toString()
    const header = whole.slice(0, whole.indexOf('\n') + 1)
    const end = '{"kind":"end"}\n'
    const cases: Record<string, [Buffer | string, RegExp]> = {
      'text.backup': ['no backup', /cannot be read as a backup/],
      'cut.backup': [readFileSync(join(root, 'hot.backup')).subarray(0, 2_000), /cannot be read as a backup/],
      'short.backup': [gzipSync(whole.slice(0, whole.lastIndexOf('{"kind":"end"'))), /the file is truncated/],
      'newer.backup': [
        gzipSync(header.replace(/"schema":\[/, '"schema":[999,') + end),
        /newer than this version/,
      ],
      'escape.backup': [
        gzipSync(`${header}{"kind":"file","path":"../escaped","mode":384,"base64":"eA=="}\n${end}`),
        /outside the data folder/,
      ],
      'broken.backup': [gzipSync(whole.replace('"text":"[{', '"text":"[x{')), /could not be restored/],
    }
    for (const [name, [bytes, message]] of Object.entries(cases)) {
      writeFileSync(join(root, name), bytes)
      const target = join(root, `target-of-${name}`)
      const { code, err } = await cli('restore', name, '--data', target)
      expect(code, name).toBe(1)
      expect(err, name).toMatch(message)
      const left = existsSync(target) ? readdirSync(target) : []
      expect(left, name).toEqual([])
    }
    expect(existsSync(join(root, 'escaped'))).toBe(false)
    expect((await cli('restore', 'nowhere.backup', '--data', join(root, 'x'))).err).toContain(
      'nowhere.backup does not exist',
    )
    expect((await cli('backup', 'y.backup', '--data', join(root, 'x'))).err).toContain(
      'There is no installation',
    )
  })
})
