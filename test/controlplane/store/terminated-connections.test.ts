import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import pino from 'pino'
import { expect, test } from 'vitest'
import { ConnectionPool } from '../../../controlplane/db/connection/pool.ts'
import { isUnavailable, unlessUnavailable } from '../../../controlplane/db/connection/unavailable.ts'

const ADMIN_SHUTDOWN = '57P01'

/** Message of the server: a type, the length of the rest, and the content (PostgreSQL documentation, "Message Formats"). */
function message(type: string, content: Buffer): Buffer {
  const length = Buffer.alloc(4)
  length.writeInt32BE(content.length + 4)
  return Buffer.concat([Buffer.from(type), length, content])
}

const AUTHENTICATED = message('R', Buffer.alloc(4))
const READY = message('Z', Buffer.from('I'))
const TERMINATED = message(
  'E',
  Buffer.from(`SFATAL\0C${ADMIN_SHUTDOWN}\0Mterminating connection due to administrator command\0\0`),
)

test('a server that ends a connection in the packet that opens it causes no uncaught exception', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(Buffer.concat([AUTHENTICATED, READY, TERMINATED])))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const pool = new ConnectionPool({
    config: { host: '127.0.0.1', port, user: 'u', database: 'd' },
    ...{ isPooled: false, max: 1, hangMs: 10_000, connectMs: 10_000, statementMs: 10_000 },
    log: pino({ level: 'silent' }),
  })
  try {
    for (let n = 0; n < 3; n++) {
      const used = await pool.use(({ run }) => run('select 1')).catch((error: unknown) => error)
      expect(isUnavailable(unlessUnavailable(used))).toBe(true)
    }
  } finally {
    await pool.close()
    server.close()
  }
})
