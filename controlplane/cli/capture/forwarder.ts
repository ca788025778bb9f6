import { createSocket, type RemoteInfo } from 'node:dgram'
import { readFile } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { type ConnectionPreamble, preambleLine } from '../../../core/capture/connection-preamble.ts'
import { createDestinations } from '../../../core/capture/destinations.ts'
import { POD_PORTS } from '../../../core/capture/pod-contract.ts'
import { type Destination, SOCKET_TABLES } from '../../../core/capture/socket-table.ts'
import { forwardQuery, QUERY_TIMEOUT_S } from './dns-query.ts'
import { type LocalPort, pipeSockets, serveLocalPorts } from './local-ports.ts'

export type ForwarderInput = {
  readonly agent: string
  /** Key with which the gateway authenticates the agent. */
  readonly key: string
  /** Path of the gateway's Unix socket, which is accessible from every network namespace. */
  readonly socketPath: string
  /** Loopback ports of this machine that the captured command can reach without the gateway. */
  readonly localPorts: readonly LocalPort[]
}

export type Forwarder = { close(): void }

type Kind = ConnectionPreamble['kind']
const PORTS: ReadonlyArray<readonly [Kind, number]> = [
  ['tls', POD_PORTS.tls],
  ['http', POD_PORTS.http],
  ['other', POD_PORTS.other],
  ['dns', POD_PORTS.dns],
]
const MAX_QUERIES = 256

/**
 * Forwards the redirected connections of a captured command to the gateway unchanged. The forwarder runs in the
 * command's network namespace, is stateless and does not parse the traffic. When the forwarder stops, no traffic
 * leaves the namespace. Rejects when a port cannot be opened.
 */
export async function startForwarder(input: ForwarderInput): Promise<Forwarder> {
  const servers: Server[] = []
  const datagrams: ReturnType<typeof createSocket>[] = []
  for (const host of ['127.0.0.1', '::1']) {
    try {
      for (const [kind, port] of PORTS) servers.push(await openStreams(input, { kind, port, host }))
      datagrams.push(await openDatagrams(input, host))
      servers.push(...(await serveLocalPorts(input.localPorts, host)))
    } catch (error) {
      // Without IPv6, no traffic is redirected to ::1, so a failure to listen on ::1 is harmless.
      if (host === '127.0.0.1' || !isNoIpv6(error)) throw error
    }
  }
  return {
    close() {
      for (const server of servers) server.close()
      for (const socket of datagrams) socket.close()
    },
  }
}

type Place = { readonly kind: Kind; readonly port: number; readonly host: string }

function openStreams(input: ForwarderInput, { kind, port, host }: Place): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    client.on('error', () => client.destroy())
    client.pause()
    destinationOf(kind, client).then(
      (destination) => pipeSockets(client, openGateway(input, { kind, destination })),
      () => client.destroy(),
    )
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, backlog: 1024 }, () => resolve(server))
  })
}

async function destinationOf(kind: Kind, client: Socket): Promise<Destination | null> {
  const { remoteAddress, remotePort, localPort } = client
  if (kind !== 'other' || remoteAddress === undefined || remotePort === undefined) return null
  return destinations({ address: remoteAddress, port: remotePort, acceptedOn: localPort ?? 0 })
}

const destinations = createDestinations(() =>
  Promise.all(SOCKET_TABLES.map((path) => readFile(path, 'latin1'))),
)

function openGateway(
  { agent, key, socketPath }: ForwarderInput,
  what: Pick<ConnectionPreamble, 'kind' | 'destination'>,
): Socket {
  const gateway = connect({ path: socketPath, allowHalfOpen: true })
  gateway.on('error', () => gateway.destroy())
  gateway.write(preambleLine({ agent, key, ...what }))
  return gateway
}

async function openDatagrams(
  input: ForwarderInput,
  address: string,
): Promise<ReturnType<typeof createSocket>> {
  const type = address === '::1' ? 'udp6' : 'udp4'
  const socket = createSocket({ type, ipv6Only: type === 'udp6' })
  const open = { count: 0 }
  socket.on('message', (query, from) => {
    if (open.count >= MAX_QUERIES) return
    open.count++
    const dial = () => openGateway(input, { kind: 'dns', destination: null })
    void forwardQuery(dial, query, QUERY_TIMEOUT_S * 1_000).then((answer) => {
      open.count--
      if (answer.length > 0) reply(socket, answer, from)
    })
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.bind({ port: POD_PORTS.dns, address }, resolve)
  })
  return socket
}

function reply(socket: ReturnType<typeof createSocket>, answer: Buffer, { port, address }: RemoteInfo): void {
  // Ignores errors, because the client may have closed its socket.
  socket.send(answer, port, address, () => undefined)
}

function isNoIpv6(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT'
}
