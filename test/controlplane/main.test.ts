import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { bundledProgram } from '../support/bundled-program.ts'
import { eventually } from '../support/eventually.ts'
import type { TestDatabase, TestPostgres } from '../support/postgres.ts'
import { PROGRAM_ENV } from '../support/program-env.ts'
import { workerPostgres } from '../support/worker-postgres.ts'

const MAIN = await bundledProgram('controlplane')
let server: TestPostgres
let database: TestDatabase
const children: ChildProcess[] = []

beforeAll(async () => {
  server = await workerPostgres()
  database = await server.createDatabase()
})
afterEach(() => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL')
})
afterAll(() => server?.stop())

function start(env: Record<string, string> = {}): ChildProcess {
  const child = fork(MAIN, {
    env: {
      ...PROGRAM_ENV,
      DATABASE_URL: database.url,
      MASTER_KEY: 'cd'.repeat(32),
      PORT: '0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    execArgv: [],
  })
  children.push(child)
  return child
}

type Said = { type: string; url: string; message: string }
const said = async (child: ChildProcess) => ((await once(child, 'message')) as [Said])[0]

describe('the control plane as a process', () => {
  test('says when it serves, and ends cleanly on SIGTERM', async () => {
    const child = start()
    const ready = await said(child)
    expect(ready).toMatchObject({ type: 'ready' })
    expect(JSON.stringify(ready)).not.toContain('/setup?token=')
    expect((await fetch(`${ready.url}/readyz`)).status).toBe(200)
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  test('completes requests in flight after SIGTERM, and logs one JSON object a line', async () => {
    const child = start({ LOG_LEVEL: 'debug' })
    let log = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      log += chunk.toString()
    })
    const { url } = await said(child)
    const admin = new pg.Client({ connectionString: database.adminUrl })
    await admin.connect()
    await admin.query('begin; lock table users in access exclusive mode')
    const body = JSON.stringify({ email: 'a@example.com', password: 'correct horse battery' })
    const headers = { 'content-type': 'application/json' }
    const answer = fetch(`${url}/api/auth/login`, { method: 'POST', headers, body })
    await eventually('the request waits for the table', async () => {
      const { rows } = await admin.query('select 1 from pg_locks where not granted')
      return rows.length > 0 ? true : null
    })
    child.kill('SIGTERM')
    await eventually('nobody new is let in', () =>
      fetch(`${url}/livez`).then(
        () => null,
        () => true,
      ),
    )
    await admin.query('commit')
    await admin.end()
    expect((await answer).status).toBe(401)
    expect(await once(child, 'exit')).toEqual([0, null])
    const lines = log.split('\n').filter((line) => line !== '')
    expect(lines.length).toBeGreaterThan(0)
    for (const line of lines) {
      expect(JSON.parse(line)).toMatchObject({
        level: expect.any(Number),
        time: expect.any(Number),
        msg: expect.any(String),
      })
    }
  })

  test('writes no owner link where its output is no terminal', async () => {
    const child = spawn(process.execPath, [MAIN], {
      env: {
        ...PROGRAM_ENV,
        DATABASE_URL: database.url,
        MASTER_KEY: 'cd'.repeat(32),
        PORT: '0',
        LOG_LEVEL: 'trace',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.push(child)
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString()
      })
    await eventually('it serves', async () => (output.includes('control plane serves') ? true : null))
    child.kill('SIGTERM')
    await once(child, 'close')
    expect(output).not.toMatch(/setup\?token=|owner/i)
  })

  test('ends when its parent process has ended', async () => {
    const child = start()
    await said(child)
    child.disconnect()
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  test('ends although a gateway listens on its stream', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'chaperone-main-'))
    await writeFile(join(folder, 'token'), 'enrolment-token')
    const child = start({ LOCAL_GATEWAY_TOKEN_FILE: join(folder, 'token') })
    const { url } = await said(child)
    const headers = { authorization: 'Bearer enrolment-token', 'x-process-id': 'proc_1' }
    const stream = await fetch(`${url}/api/gateway/stream`, { headers })
    expect(stream.status).toBe(200)
    expect(stream.headers.get('x-request-id')).toMatch(/^req_/)
    child.kill('SIGTERM')
    expect(await stream.text()).toContain('"goaway"')
    expect(await once(child, 'exit')).toEqual([0, null])
    await rm(folder, { recursive: true })
  })

  test.each([
    [
      { DATABASE_URL: 'postgres://u:hidden@127.0.0.1:1/x' },
      /cannot use the database 127\.0\.0\.1:1\/x \(.*ECONNREFUSED.*\): check DATABASE_URL/,
    ],
    [{ MASTER_KEY: 'short' }, /MASTER_KEY does not contain 32 bytes/],
    [{ MASTER_KEY: 'ef'.repeat(32) }, /Start with the master key of this database/],
    [{ PORT: 'many' }, /PORT is "many"/],
  ])('that cannot start with %o says why and ends with 1', async (env, message) => {
    const child = start(env as Record<string, string>)
    const answer = await said(child)
    expect(answer.type).toBe('fatal')
    expect(answer.message).toMatch(message)
    expect(answer.message).not.toContain('hidden')
    expect(await once(child, 'exit')).toEqual([1, null])
  })

  test('whose port is taken says which', async () => {
    const first = start()
    const { url } = await said(first)
    const second = start({ PORT: new URL(url).port })
    expect((await said(second)).message).toMatch(/Port \d+ on 127\.0\.0\.1 is in use\. .*PORT/)
    await once(second, 'exit')
    first.kill('SIGTERM')
    await once(first, 'exit')
  })
})
