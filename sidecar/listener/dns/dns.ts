import { createSocket, type Socket as Datagrams, type RemoteInfo } from 'node:dgram'
import { createServer, type Server, type Socket } from 'node:net'
import { decode, encode, type Packet, streamEncode } from 'dns-packet'
import type { Credentials } from '../../pipeline/credentials/credentials.ts'
import type { Log } from '../../process/log.ts'
import { answerDns, type DnsAnswerDeps } from './dns-answer.ts'

export type DnsStreamDeps = Omit<DnsAnswerDeps, 'onUnowned'> & {
  /** Called with each queried name that no connector owns, and with the credentials of the connection. */
  readonly onUnowned: (name: string, credentials: Credentials) => void
  readonly monotonicMs: () => number
  readonly log: Pick<Log, 'debug' | 'warn'>
}

export type DnsDeps = DnsAnswerDeps & Omit<DnsStreamDeps, 'onUnowned'> & { readonly port: number }

/**
 * Answers the DNS queries of one stream connection until it ends. Each message has a two-byte length prefix (RFC 1035,
 * section 4.2.2).
 */
export type DnsStream = (socket: Socket, credentials: Credentials) => void

export function createDnsStream(deps: DnsStreamDeps): DnsStream {
  const take = createBucket(deps.monotonicMs)
  return (socket, credentials) => {
    const onUnowned = (name: string): void => deps.onUnowned(name, credentials)
    serveStream(socket, { ...deps, onUnowned }, take)
    socket.once('end', () => socket.end())
    socket.resume()
  }
}

export type Dns = { close(): Promise<void> }

/**
 * Loopback addresses to listen on. A wildcard socket could reply from another source address than the client queried,
 * and resolvers drop such a reply.
 */
const ADDRESSES = ['127.0.0.1', '::1'] as const
const PER_SECOND = 500
const BURST = 1_000
const MAX_CONNECTIONS = 64
const IDLE_MS = 10_000

/**
 * Serves the only resolver of a governed pod, on UDP and TCP. Beyond 500 queries a second, with bursts of 1,000, drops
 * datagrams and closes stream connections. Rejects when a port is in use. Serves IPv4 alone on a machine without IPv6.
 */
export async function createDns(deps: DnsDeps): Promise<Dns> {
  const take = createBucket(deps.monotonicMs)
  const open: Array<() => Promise<void>> = []
  const closeAll = async (): Promise<void> => void (await Promise.all(open.map((close) => close())))
  try {
    for (const address of ADDRESSES) {
      try {
        open.push(await openDatagrams(address, deps, take), await openStreams(address, deps, take))
      } catch (error) {
        if (address === '127.0.0.1' || !isNoIpv6(error)) throw error
        deps.log.debug({ err: error }, 'IPv6 is unavailable; the DNS listener uses IPv4 only')
      }
    }
  } catch (error) {
    await closeAll()
    throw error
  }
  return { close: closeAll }
}

async function openDatagrams(
  address: string,
  deps: DnsDeps,
  take: () => boolean,
): Promise<() => Promise<void>> {
  const type = address === '::1' ? 'udp6' : 'udp4'
  const socket = createSocket({ type, ipv6Only: type === 'udp6' })
  socket.on('message', (bytes, from) => {
    if (take()) answerDatagram(socket, deps, { bytes, from })
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.bind({ port: deps.port, address, exclusive: true }, () => {
      socket.removeListener('error', reject)
      resolve()
    })
  })
  socket.on('error', (error) => deps.log.warn({ err: error }, 'DNS listener failed'))
  return () => new Promise((resolve) => socket.close(() => resolve()))
}

function answerDatagram(
  socket: Datagrams,
  deps: DnsDeps,
  { bytes, from }: { readonly bytes: Buffer; readonly from: RemoteInfo },
): void {
  const query = read(bytes)
  if (query === null) return
  answerDns(query, deps)
    .then((reply) => socket.send(encode(reply), from.port, from.address))
    .catch((error: unknown) => deps.log.debug({ err: error }, 'DNS query failed'))
}

async function openStreams(
  address: string,
  deps: DnsDeps,
  take: () => boolean,
): Promise<() => Promise<void>> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', (error) => deps.log.debug({ err: error }, 'DNS client failed'))
    socket.once('close', () => sockets.delete(socket))
    socket.setTimeout(IDLE_MS, () => socket.destroy())
    serveStream(socket, deps, take)
  })
  server.maxConnections = MAX_CONNECTIONS
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port: deps.port, host: address }, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
  server.on('error', (error) => deps.log.warn({ err: error }, 'DNS listener failed'))
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
}

/** Answers length-prefixed queries, any number on one connection. */
function serveStream(
  socket: Socket,
  deps: DnsAnswerDeps & Pick<DnsStreamDeps, 'log'>,
  take: () => boolean,
): void {
  let pending: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      const end = 2 + pending.readUInt16BE(0)
      const query = read(pending.subarray(2, end))
      pending = pending.subarray(end)
      if (query === null || !take()) {
        socket.destroy()
        return
      }
      answerDns(query, deps)
        .then((reply) => void (socket.destroyed || socket.write(streamEncode(reply))))
        .catch((error: unknown) => deps.log.debug({ err: error }, 'DNS query failed'))
    }
  })
}

/** Decodes a query; returns null for other bytes, which get no answer. */
function read(bytes: Buffer): Packet | null {
  try {
    const packet = decode(bytes)
    return packet.type === 'query' ? packet : null
  } catch (error) {
    // For truncated packets the decoder throws errors of several types.
    if (error instanceof Error) return null
    throw error
  }
}

function isNoIpv6(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null
  return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT'
}

function createBucket(monotonicMs: () => number): () => boolean {
  const state = { tokens: BURST, at: monotonicMs() }
  return () => {
    const now = monotonicMs()
    state.tokens = Math.min(BURST, state.tokens + ((now - state.at) / 1_000) * PER_SECOND)
    state.at = now
    if (state.tokens < 1) return false
    state.tokens -= 1
    return true
  }
}
