import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { Agent, request } from 'undici'
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../controlplane/cli/postgres/embedded-postgres.ts'
import { seedMigratedPostgres } from './cluster-template.ts'
import { type ControlPlaneProcess, startControlPlaneProcess } from './control-plane-process.ts'
import { databasesFolder } from './memory-folder.ts'

export type Reply = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  readonly body: Record<string, unknown>
}

/** Sends one request over a kept-alive connection. `key` is a bearer token or a cookie. Rejects when the connection fails. */
export type Send = (
  url: string,
  method: string,
  path: string,
  given?: { readonly key?: string; readonly body?: unknown; readonly headers?: Record<string, string> },
) => Promise<Reply>

export const SECRETS = {
  masterKey: randomBytes(32).toString('hex'),
  enrolToken: `enrol-${randomBytes(16).toString('hex')}`,
  operatorToken: `operator-${randomBytes(16).toString('hex')}`,
  maintenance: `maintenance-${randomBytes(16).toString('hex')}`,
  databasePassword: randomBytes(16).toString('hex'),
} as const

/**
 * Control plane processes on the PostgreSQL that ships with the product. The database is durable and can be restarted during
 * a test.
 */
export type DurableInstallation = AsyncDisposable & {
  readonly databaseUrl: string
  /** Data directory of PostgreSQL. Files with secrets that belong on disk are beside this directory, not in it. */
  readonly databaseFolder: string
  readonly adminToken: string
  readonly send: Send
  /** Sends a request as an owner, with the admin token. Throws for every status other than 200. */
  admin(plane: ControlPlaneProcess, method: string, path: string, body?: unknown): Promise<Reply['body']>
  /** Starts one more control plane process. Disposing the installation stops all processes. */
  start(env?: Record<string, string>, preload?: string): Promise<ControlPlaneProcess>
  /** Creates an agent and returns its id and key. */
  agent(plane: ControlPlaneProcess): Promise<{ readonly id: string; readonly key: string }>
  /** Runs a SQL statement as the application's role. */
  sql<R = Record<string, unknown>>(text: string, values?: unknown[]): Promise<R[]>
  /** Restarts the database server on the same address. */
  restartDatabase(): Promise<void>
}

let agents = 0

export async function startDurableInstallation(
  always: Record<string, string> = {},
): Promise<DurableInstallation> {
  const root = mkdtempSync(join(databasesFolder(), 'chaperone-proof-'))
  await seedMigratedPostgres(join(root, 'postgres'))
  const startDatabase = (port = 0) =>
    startEmbeddedPostgres({
      dir: join(root, 'postgres'),
      password: { value: SECRETS.databasePassword, isNew: port === 0 },
      logFile: join(root, 'postgres.log'),
      port,
    })
  let database: EmbeddedPostgres = await startDatabase()
  const { url: databaseUrl, port } = database
  const env = {
    DATABASE_URL: databaseUrl,
    MASTER_KEY: SECRETS.masterKey,
    MAINTENANCE_SECRET: SECRETS.maintenance,
    ADMIN_TOKEN_FILE: join(root, 'admin.token'),
    LOCAL_GATEWAY_TOKEN_FILE: secretFile(root, 'enrol.token', SECRETS.enrolToken),
    OPERATOR_TOKEN_FILE: secretFile(root, 'operator.token', SECRETS.operatorToken),
    ...always,
  }
  const processes: ControlPlaneProcess[] = []
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 })
  // Ignores connection errors, because the test restarts the database.
  pool.on('error', () => undefined)
  const client = createSend()
  const adminToken = () => readFileSync(env.ADMIN_TOKEN_FILE, 'utf8').trim()
  const admin: DurableInstallation['admin'] = async (plane, method, path, body) => {
    const reply = await client.send(plane.url, method, path, { key: adminToken(), body })
    if (reply.status !== 200) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`)
    return reply.body
  }
  return {
    databaseUrl,
    databaseFolder: join(root, 'postgres'),
    get adminToken() {
      return adminToken()
    },
    send: client.send,
    admin,
    async start(extra = {}, preload) {
      const one = await startControlPlaneProcess({ ...env, ...extra }, preload)
      processes.push(one)
      return one
    },
    async agent(plane) {
      const given = { name: `proof-${++agents}`, runtime: 'test', environment: 'development' }
      const body = await admin(plane, 'POST', '/api/dashboard/agents', given)
      return { id: String(body['agent_id']), key: String(body['api_key']) }
    },
    sql: async (text, values = []) => (await pool.query(text, values)).rows,
    async restartDatabase() {
      await database.stop()
      database = await startDatabase(port)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(processes.map((one) => one.stop()))
      await client.close()
      await pool.end()
      await database.stop()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

function secretFile(root: string, name: string, text: string): string {
  const file = join(root, name)
  writeFileSync(file, `${text}\n`, { mode: 0o600 })
  return file
}

function createSend(): { readonly send: Send; close(): Promise<void> } {
  const dispatcher = new Agent({ connections: 256, headersTimeout: 60_000, bodyTimeout: 60_000 })
  return {
    async send(url, method, path, { key, body, headers = {} } = {}) {
      const answer = await request(url + path, {
        dispatcher,
        method: method as 'GET',
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : credential(key)),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await answer.body.text()
      const isJson = String(answer.headers['content-type'] ?? '').startsWith('application/json')
      return {
        status: answer.statusCode,
        headers: answer.headers,
        text,
        body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {},
      }
    },
    close: () => dispatcher.close(),
  }
}

function credential(key: string): Record<string, string> {
  return key.startsWith('svc_session=') ? { cookie: key } : { authorization: `Bearer ${key}` }
}
