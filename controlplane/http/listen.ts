import { once } from 'node:events'
import { type AddressInfo, createServer, isIP, type Server } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { isLoopback } from '../../core/loopback.ts'

export type ListenOptions = {
  readonly host: string
  readonly port: number
  readonly tls: unknown
  readonly listensOnLoopback: boolean
}

/** Listens; the error says which setting to change. */
export async function listen(
  app: FastifyInstance,
  { host, port, tls, listensOnLoopback }: ListenOptions,
): Promise<{ readonly port: number; readonly url: string }> {
  const loopback = createServer(AS_HTTP, (socket) => app.server.emit('connection', socket))
  app.addHook('preClose', (done) => {
    loopback.close()
    done()
  })
  try {
    await app.listen({ host, port })
  } catch (error) {
    throw new Error(explain(error, host, port), { cause: error })
  }
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no TCP address')
  if (listensOnLoopback && !isReachable(host, app.addresses())) await open(loopback, address.port)
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return {
    port: address.port,
    url: `${tls === null ? 'http' : 'https'}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${address.port}`,
  }
}

/** What an HTTP server does by itself: it sends small answers at once, and ends connections as it decides. */
const AS_HTTP = { allowHalfOpen: true, noDelay: true }
const LOOPBACK = '127.0.0.1'
const INCLUDES_LOOPBACK: ReadonlySet<string> = new Set([LOOPBACK, '0.0.0.0', '::'])

/** A loopback address is what the programs of this machine ask for; the name `localhost` may be `::1` alone. */
function isReachable(host: string, addresses: readonly (string | AddressInfo)[]): boolean {
  return (
    (isIP(host) !== 0 && isLoopback(host)) ||
    addresses.some((each) => typeof each !== 'string' && INCLUDES_LOOPBACK.has(each.address))
  )
}

async function open(server: Server, port: number): Promise<void> {
  try {
    server.listen({ host: LOOPBACK, port })
    await once(server, 'listening')
  } catch (error) {
    throw new Error(explain(error, LOOPBACK, port), { cause: error })
  }
}

function explain(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  if (code === 'EADDRINUSE')
    return `port ${port} on ${host} is in use: stop what uses it, or set PORT to another one (0 = any)`
  if (code === 'EACCES') return `port ${port} may not be opened by this user: set PORT to one above 1023`
  return `cannot listen on ${host}:${port} (${code}): set HOST to an address of this machine`
}
