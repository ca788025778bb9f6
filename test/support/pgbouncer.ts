import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from '../../controlplane/cli/postgres/free-port.ts'
import { eventually } from './eventually.ts'

/** PgBouncer in transaction mode in front of a database. `url` is the URL of the database with the port of PgBouncer. */
export type PgBouncer = AsyncDisposable & { readonly url: string }

/** Account that PgBouncer runs as, because it refuses to run as root. */
const NOBODY = 65_534
/** PATH with the folder of programs for administrators, which a user's PATH may lack. */
export const PGBOUNCER_PATH = `${process.env['PATH'] ?? ''}:/usr/sbin`

export async function startPgBouncer(target: string): Promise<PgBouncer> {
  const folder = mkdtempSync(join(tmpdir(), 'chaperone-pgbouncer-'))
  chmodSync(folder, 0o755)
  const { hostname, port, username, password } = new URL(target)
  const own = await freePort()
  const file = (name: string, lines: readonly string[]) => {
    writeFileSync(join(folder, name), `${lines.join('\n')}\n`, { mode: 0o644 })
    return join(folder, name)
  }
  const users = file('users.txt', [`"${username}" "${decodeURIComponent(password)}"`])
  const settings = file('pgbouncer.ini', [
    ...['[databases]', `* = host=${hostname} port=${port}`, '[pgbouncer]'],
    ...['listen_addr = 127.0.0.1', `listen_port = ${own}`, 'unix_socket_dir =', 'pool_mode = transaction'],
    ...[
      'auth_type = scram-sha-256',
      `auth_file = ${users}`,
      'default_pool_size = 20',
      'max_client_conn = 200',
    ],
  ])
  const account = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
  const env = { PATH: PGBOUNCER_PATH }
  const bouncer = spawn('pgbouncer', [settings], { stdio: ['ignore', 'ignore', 'ignore'], env, ...account })
  const url = new URL(target)
  url.port = String(own)
  await eventually('PgBouncer accepts connections', async () => {
    const client = new pg.Client({ connectionString: url.href })
    client.on('error', () => undefined)
    const connected = await client.connect().then(
      () => true,
      () => null,
    )
    await client.end().catch(() => undefined)
    return connected
  })
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      const gone = once(bouncer, 'exit')
      bouncer.kill('SIGINT')
      const kill = setTimeout(() => bouncer.kill('SIGKILL'), 5_000)
      await gone
      clearTimeout(kill)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
