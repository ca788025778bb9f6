import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** Answer of the server for a name and a record type; `silent`: no answer; `refused`: a response without records. */
export type DnsReply = readonly string[] | 'silent' | 'missing'
export type DnsQuestion = {
  readonly name: string
  readonly type: 'A' | 'AAAA'
  readonly transport: 'udp' | 'tcp'
}

/** A DNS server on UDP and TCP that records every question. */
export type DnsServer = AsyncDisposable & {
  /** `IP:PORT`. */
  readonly address: string
  readonly port: number
  readonly questions: DnsQuestion[]
}

export type DnsServerOptions = {
  readonly host?: string
  readonly port?: number
  readonly ttl?: number
  /** Truncates every answer over UDP, so that clients repeat the query over TCP. */
  readonly truncates?: boolean
}

const TYPES = { 1: 'A', 28: 'AAAA' } as const

export async function startDnsServer(
  reply: (question: DnsQuestion) => DnsReply,
  { host = '127.0.0.1', port = 0, ttl = 60, truncates = false }: DnsServerOptions = {},
): Promise<DnsServer> {
  const questions: DnsQuestion[] = []
  const answer = (query: Buffer, transport: 'udp' | 'tcp'): Buffer | null => {
    const question = readQuestion(query, transport)
    if (question === null) return null
    questions.push(question)
    const wanted = reply(question)
    if (wanted === 'silent') return null
    return response(query, wanted, {
      ttl,
      isTruncated: truncates && transport === 'udp',
      type: question.type,
    })
  }
  const tcp = createServer((socket) => serveTcp(socket, answer))
  tcp.listen(port, host)
  await once(tcp, 'listening')
  const bound = (tcp.address() as AddressInfo).port
  const udp = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  udp.on('message', (query, from) => {
    const bytes = answer(query, 'udp')
    if (bytes !== null) udp.send(bytes, from.port, from.address)
  })
  udp.bind(bound, host)
  await once(udp, 'listening')
  return {
    address: `${host}:${bound}`,
    port: bound,
    questions,
    async [Symbol.asyncDispose]() {
      udp.close()
      await new Promise((resolve) => tcp.close(resolve))
    },
  }
}

function serveTcp(socket: Socket, answer: (query: Buffer, transport: 'tcp') => Buffer | null): void {
  let pending = Buffer.alloc(0)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk])
    while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
      const end = 2 + pending.readUInt16BE(0)
      const bytes = answer(pending.subarray(2, end), 'tcp')
      pending = pending.subarray(end)
      if (bytes === null) continue
      const length = Buffer.alloc(2)
      length.writeUInt16BE(bytes.length)
      socket.write(Buffer.concat([length, bytes]))
    }
  })
}

function readQuestion(query: Buffer, transport: 'udp' | 'tcp'): DnsQuestion | null {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const type = TYPES[query.readUInt16BE(at + 1) as keyof typeof TYPES]
  return type === undefined ? null : { name: labels.join('.').toLowerCase(), type, transport }
}

type Shape = { readonly ttl: number; readonly isTruncated: boolean; readonly type: 'A' | 'AAAA' }

function response(query: Buffer, wanted: readonly string[] | 'missing', shape: Shape): Buffer {
  const { ttl, isTruncated, type } = shape
  const records = wanted === 'missing' || isTruncated ? [] : wanted
  let end = 12
  while ((query[end] ?? 0) > 0) end += 1 + (query[end] ?? 0)
  const head = Buffer.from(query.subarray(0, end + 5))
  head.writeUInt16BE(0x8180 | (isTruncated ? 0x0200 : 0) | (wanted === 'missing' ? 3 : 0), 2)
  head.writeUInt16BE(records.length, 6)
  head.writeUInt16BE(0, 8)
  head.writeUInt16BE(0, 10)
  return Buffer.concat([head, ...records.map((address) => record(address, type, ttl))])
}

function record(address: string, type: 'A' | 'AAAA', ttl: number): Buffer {
  const data = type === 'A' ? Buffer.from(address.split('.').map(Number)) : ipv6(address)
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(type === 'A' ? 1 : 28, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(ttl, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function ipv6(address: string): Buffer {
  const [left = '', right = ''] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const missing = 8 - groups(left).length - groups(right).length
  const all = [...groups(left), ...Array<string>(missing).fill('0'), ...groups(right)]
  return Buffer.from(all.flatMap((group) => [parseInt(group, 16) >> 8, parseInt(group, 16) & 255]))
}
