import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { listenFailure } from './listen.ts'
import type { Tls } from './tls.ts'

export type MigrationServerOptions = {
  readonly host: string
  readonly port: number
  readonly tls: Pick<Tls, 'certificate'> | null
}

const RETRY_AFTER_S = 5
const LIVE = { status: 'ok' }
const MIGRATING = {
  status: 'migrating',
  error: 'Migrating the database',
  detail:
    'The control plane is migrating its database and serves requests after that. Send the request again later.',
}

/**
 * Listens on the address of the control plane while the database is migrated. Answers `/livez` with 200, so that no
 * liveness probe ends a running migration, and every other request with 503.
 */
export async function startMigrationServer({
  host,
  port,
  tls,
}: MigrationServerOptions): Promise<AsyncDisposable> {
  const server = tls === null ? createServer(answer) : createTlsServer({ ...tls.certificate }, answer)
  try {
    server.listen({ host, port })
    await once(server, 'listening')
  } catch (error) {
    throw new Error(listenFailure(error, host, port), { cause: error })
  }
  return {
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

const answer: RequestListener = (request, response) => {
  const isLive = request.url === '/livez'
  response.writeHead(isLive ? 200 : 503, {
    'content-type': 'application/json',
    connection: 'close',
    ...(isLive ? {} : { 'retry-after': String(RETRY_AFTER_S) }),
  })
  response.end(JSON.stringify(isLive ? LIVE : MIGRATING))
}
