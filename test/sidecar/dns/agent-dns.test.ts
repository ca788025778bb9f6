import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { decode, type Packet, streamEncode } from 'dns-packet'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDns, createAgentDns } from '../../../sidecar/listener/dns/agent-dns.ts'

/** A clock that stands still: a limit of queries that is used up stays so. */
const dnsOf = () =>
  createAgentDns({
    ownerOf: () => 'governed',
    exists: async () => false,
    answersUnowned: false,
    onUnowned: () => undefined,
    families: () => ({ v4: true, v6: true }),
    monotonicMs: () => 0,
    log: { debug: () => undefined, warn: () => undefined },
  })

let server: Server
let of: (agent: string) => AgentDns
/** The agents of the connections, in their order. */
let agents: string[]
beforeEach(async () => {
  of = dnsOf()
  agents = []
  server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined)
    of(agents.shift() ?? '').serve(socket, { kind: 'port', agent: 'unused' })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterEach(() => new Promise((done) => server.close(done)))

/** Resolves with the address of each answer once the connection is over. */
async function ask(agent: string, names: readonly string[]): Promise<readonly string[]> {
  agents.push(agent)
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => undefined)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    if (messages(Buffer.concat(chunks)).length === names.length) socket.end()
  })
  socket.write(Buffer.concat(names.map((name, id) => streamEncode(query(name, id)))))
  await once(socket, 'close')
  return messages(Buffer.concat(chunks)).map(addressOf)
}

function query(name: string, id: number): Packet {
  return { type: 'query', id, flags: 0x100, questions: [{ name, type: 'A' }] }
}

function messages(bytes: Buffer): readonly Packet[] {
  const found: Packet[] = []
  for (let at = 0; at + 2 <= bytes.length; ) {
    const end = at + 2 + bytes.readUInt16BE(at)
    if (end > bytes.length) break
    found.push(decode(bytes.subarray(at + 2, end)))
    at = end
  }
  return found
}

function addressOf({ answers: [answer] = [] }: Packet): string {
  return answer !== undefined && 'data' in answer ? String(answer.data) : ''
}

test('an agent that used its query limit does not affect another agent', async () => {
  const names = Array.from({ length: 1_001 }, (_, n) => `n${n}.test`)
  await ask('flood', names)
  expect(await ask('flood', ['more.test'])).toEqual([])
  expect(await ask('other', ['api.test'])).toEqual(['198.18.0.1'])
})

test('an address leads to the name that the same agent looked up', async () => {
  const [[mine = '']] = [await ask('one', ['one.test']), await ask('two', ['two.test', 'three.test'])]
  expect([of('one').nameOf(mine), of('two').nameOf(mine)]).toEqual(['one.test', 'two.test'])
  expect(of('two').nameOf('198.18.0.2')).toBe('three.test')
  expect(of('one').nameOf('198.18.0.2')).toBeNull()
})
