import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { helmProgram, resources } from './chart.ts'

const PASSWORD = 'a password of the setup job'
let postgres: TestPostgres
let folder: string

beforeAll(async () => {
  if (helmProgram === null) return
  postgres = await startPostgres()
  folder = mkdtempSync(join(tmpdir(), 'chaperone-bundled-'))
  chmodSync(folder, 0o755)
  writeFileSync(join(folder, 'password'), `${PASSWORD}\n`)
})
afterAll(async () => {
  await postgres?.stop()
  if (folder !== undefined) rmSync(folder, { recursive: true })
})

/** Runs each statement on a connection of its own. */
async function query<R>(url: string, ...statements: readonly string[]): Promise<readonly R[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    let rows: readonly R[] = []
    for (const statement of statements) rows = (await client.query(statement)).rows as R[]
    return rows
  } finally {
    await client.end()
  }
}

describe.skipIf(helmProgram === null)('the bundled PostgreSQL', () => {
  test('has a role that owns one database, and no access for the superuser over the network', async () => {
    const all = await resources('--set', 'postgres.bundled=true')
    const config = all.find(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'chaperone-postgres',
    )
    const data = (config as { readonly data?: Readonly<Record<string, string>> } | undefined)?.data ?? {}
    const statements = (data['init.sql'] ?? '').trim().split('\n')
    expect(statements[0]).toContain('/etc/chaperone/postgres/password')
    const place = (statement: string) => statement.replace('/etc/chaperone/postgres', folder)
    const [file] = await query<{ hba_file: string }>(postgres.url, ...statements.map(place), 'show hba_file')
    writeFileSync(file?.hba_file ?? '', data['pg_hba.conf'] ?? '')
    await query(postgres.url, 'select pg_reload_conf()')

    const own = new URL(postgres.url)
    Object.assign(own, { username: 'chaperone', password: PASSWORD, pathname: '/chaperone' })
    const role = 'select rolsuper, rolcreatedb, rolcreaterole from pg_roles where rolname = current_user'
    expect(await query(own.href, 'create table things (id int)', role)).toEqual([
      { rolsuper: false, rolcreatedb: false, rolcreaterole: false },
    ])
    await expect(query(postgres.url, 'select 1')).rejects.toThrow(/no pg_hba\.conf entry/)
  })

  test('is the official image with the user of that image', async () => {
    const all = await resources('--set', 'postgres.bundled=true')
    const set = all.find(({ kind }) => kind === 'StatefulSet')
    expect(set?.spec).toMatchObject({
      template: {
        spec: {
          securityContext: { runAsNonRoot: true, runAsUser: 999, fsGroup: 999 },
          containers: [{ image: expect.stringMatching(/^docker\.io\/library\/postgres:\d+\.\d+$/) }],
        },
      },
    })
  })
})
