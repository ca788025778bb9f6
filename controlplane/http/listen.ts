import { once } from 'node:events'
import { type AddressInfo, createServer, isIP, type Server } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { isLoopback } from '../../core/loopback.ts'
import { authorityText } from '../../core/request/authority-text.ts'

export type ListenOptions = {
  readonly host: string
  readonly port: number
  readonly tls: unknown
  readonly listensOnLoopback: boolean
}

/** Starts the listener of the HTTP server. Rejects with an error that names the setting to change. */
export async function listen(
  app: FastifyInstance,
  { host, port, tls, listensOnLoopback }: ListenOptions,
): Promise<{ readonly port: number; readonly url: string }> {
  const loopback = createServer(HTTP_SOCKET_OPTIONS, (socket) => app.server.emit('connection', socket))
  app.addHook('preClose', (done) => {
    loopback.close()
    done()
  })
  try {
    await app.listen({ host, port, backlog: BACKLOG })
  } catch (error) {
    throw new Error(listenFailure(error, host, port), { cause: error })
  }
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no TCP address')
  if (listensOnLoopback && !isReachable(host, app.addresses())) await open(loopback, address.port)
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return {
    port: address.port,
    url: `${tls === null ? 'http' : 'https'}://${authorityText(reachable, address.port)}`,
  }
}

/** Socket options that Node's HTTP server sets by default. */
const HTTP_SOCKET_OPTIONS = { allowHalfOpen: true, noDelay: true }
const LOOPBACK = '127.0.0.1'
/**
 * Maximum number of connections that wait to be accepted. The default of Node, 511, is too low: after a restart, the
 * gateways of a fleet open more connections at once. A connection beyond the limit is opened only seconds later, when
 * its client repeats the SYN packet. With a higher limit, probes would wait too long behind the connections of
 * gateways.
 */
const BACKLOG = 1_024
const INCLUDES_LOOPBACK: ReadonlySet<string> = new Set([LOOPBACK, '0.0.0.0', '::'])

/**
 * Returns whether the server needs no further listener for this machine: the host is a loopback address, or a bound
 * address includes 127.0.0.1. A host name is not sufficient, because `localhost` may resolve to `::1` only.
 */
function isReachable(host: string, addresses: readonly (string | AddressInfo)[]): boolean {
  return (
    (isIP(host) !== 0 && isLoopback(host)) ||
    addresses.some((each) => typeof each !== 'string' && INCLUDES_LOOPBACK.has(each.address))
  )
}

async function open(server: Server, port: number): Promise<void> {
  try {
    server.listen({ host: LOOPBACK, port, backlog: BACKLOG })
    await once(server, 'listening')
  } catch (error) {
    throw new Error(listenFailure(error, LOOPBACK, port), { cause: error })
  }
}

/** Returns the message for an error of `listen`. The message names the setting to change. */
export function listenFailure(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  if (code === 'EADDRINUSE')
    return `Port ${port} on ${host} is in use. Stop the program that uses it, or set PORT to another port (0 for any free port).`
  if (code === 'EACCES') return `This user cannot open port ${port}. Set PORT to a port above 1023.`
  return `Cannot listen on ${host}:${port} (${code}). Set HOST to an address of this machine.`
}
