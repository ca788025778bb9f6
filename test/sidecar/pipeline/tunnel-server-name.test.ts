import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { createAdmit } from '../../../sidecar/pipeline/admit.ts'
import { waitFor } from '../../support/wait-for.ts'
import { startFront } from '../listener/harness.ts'
import { startWorld } from './test-world.ts'

const KEY = 'svc_test_abc'
const TOKEN = Buffer.from(`builder:${KEY}`).toString('base64')
const open: Array<() => unknown> = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

/** A server that records the bytes of each connection and says nothing. */
async function startSink() {
  const received: Buffer[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (chunk: Buffer) => received.push(chunk))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, bytes: () => Buffer.concat(received), sockets }
}

/** What a real client sends first, for this server name; empty for none. */
async function helloFor(servername: string): Promise<Buffer> {
  const { createServer: create } = await import('node:net')
  const got = Promise.withResolvers<Buffer>()
  const server = create((socket) => {
    socket.once('data', (chunk: Buffer) => {
      got.resolve(chunk)
      socket.destroy()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connectTls({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', servername })
  client.on('error', () => client.destroy())
  const hello = await got.promise
  client.destroy()
  server.close()
  return hello
}

/** The same handshake message in records of `size` bytes. */
function inRecords(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5)
  const records: Buffer[] = []
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size)
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part)
  }
  return Buffer.concat(records)
}

async function tunnelTo(host: string) {
  const sink = await startSink()
  const world = await startWorld({
    agents: [{ key_sha256: createHash('sha256').update(KEY).digest('hex') }],
    connectors: [
      {
        ...{ type: 'generic', name: 'pass', domains: [host.replace(/^\[|\]$/g, '')], tlsMode: 'passthrough' },
        upstream: { url: `https://127.0.0.1:${sink.port}`, allowPrivateAddresses: true },
      },
    ],
    permissions: [['generic.tunnel.open', 'allow']],
  })
  const front = await startFront({
    handle: world.run,
    refuse: world.run,
    admit: createAdmit(world.ports),
  })
  open.push(
    () => world[Symbol.asyncDispose](),
    () => front[Symbol.asyncDispose](),
  )
  const socket = connect(front.port, '127.0.0.1')
  socket.on('error', () => socket.destroy())
  open.push(() => socket.destroy())
  socket.write(
    `CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}:443\r\nProxy-Authorization: Basic ${TOKEN}\r\n\r\n`,
  )
  const [head] = await once(socket, 'data')
  expect(String(head)).toContain(' 200 ')
  return { socket, sink, world }
}

type Tunnel = Awaited<ReturnType<typeof tunnelTo>>

async function expectRefused({ socket, sink, world }: Tunnel): Promise<void> {
  if (!socket.destroyed) await once(socket.resume(), 'close')
  await waitFor(() => expect(world.records).toHaveLength(1))
  expect(world.records[0]).toMatchObject({
    decision: 'DENY',
    reason: 'ambiguous',
    status: 421,
    note: expect.stringContaining('server name'),
  })
  expect(sink.bytes()).toHaveLength(0)
  await waitFor(() => expect(sink.sockets.size).toBe(0))
}

async function expectJoined({ socket, sink, world }: Tunnel, sent: Buffer): Promise<void> {
  await waitFor(() => expect(sink.bytes().equals(sent)).toBe(true))
  socket.destroy()
  await waitFor(() => expect(world.records).toHaveLength(1))
  expect(world.records[0]).toMatchObject({
    decision: 'ALLOW',
    action_type: 'generic.tunnel.open',
    status: 200,
  })
}

describe('a tunnel to port 443 that is not decrypted', () => {
  it.each(['pass.test', 'PASS.test', 'pass.test.'])('is joined for the server name %s', async (name) => {
    const hello = await helloFor(name)
    const tunnel = await tunnelTo('pass.test')
    tunnel.socket.write(hello)
    await expectJoined(tunnel, hello)
  })

  it.each([1, 7, 100])('is joined for a ClientHello in records of %i bytes, byte by byte', async (size) => {
    const hello = inRecords(await helloFor('pass.test'), size)
    const tunnel = await tunnelTo('pass.test')
    for (let at = 0; at < hello.length; at += 97) {
      tunnel.socket.write(hello.subarray(at, at + 97))
      await new Promise(setImmediate)
    }
    await expectJoined(tunnel, hello)
  })

  it.each(['hidden.example', 'pass.test.evil.example', 'a.pass.test', 'pass', 'xpass.test'])(
    'is refused for the server name %s, and the server gets no byte',
    async (name) => {
      const tunnel = await tunnelTo('pass.test')
      tunnel.socket.write(await helloFor(name))
      await expectRefused(tunnel)
    },
  )

  it.each([1, 50])('is refused for another name in records of %i bytes', async (size) => {
    const tunnel = await tunnelTo('pass.test')
    tunnel.socket.write(inRecords(await helloFor('hidden.example'), size))
    await expectRefused(tunnel)
  })

  it('is refused without a server name', async () => {
    const tunnel = await tunnelTo('pass.test')
    tunnel.socket.write(await helloFor(''))
    await expectRefused(tunnel)
  })

  it.each([
    ['HTTP', 'GET / HTTP/1.1\r\nHost: pass.test\r\n\r\n'],
    ['SSH', 'SSH-2.0-x\r\n'],
    ['an old hello', '\u0080\u002e\u0001\u0003\u0001'],
    ['an alert', '\u0015\u0003\u0001\u0000\u0002\u0002\u0028'],
    ['application data', '\u0017\u0003\u0003\u0000\u0001x'],
    ['a ServerHello', '\u0016\u0003\u0001\u0000\u0004\u0002\u0000\u0000\u0000'],
    ['an endless hello', `\u0016\u0003\u0001\u0040\u0000\u0001\u00ff\u00ff\u00ff${'x'.repeat(20_000)}`],
    [
      'another record inside the hello',
      '\u0016\u0003\u0001\u0000\u0002\u0001\u0000\u0014\u0003\u0003\u0000\u0001\u0001',
    ],
  ])('is refused for %s', async (_what, text) => {
    const tunnel = await tunnelTo('pass.test')
    tunnel.socket.write(Buffer.from(text, 'latin1'))
    await expectRefused(tunnel)
  })

  it('is refused for two server names, whichever comes first', async () => {
    for (const names of [
      ['pass.test', 'hidden.example'],
      ['hidden.example', 'pass.test'],
      ['pass.test', 'pass.test'],
    ]) {
      const tunnel = await tunnelTo('pass.test')
      tunnel.socket.write(twoNames(await helloFor(names[0] ?? ''), names[1] ?? ''))
      await expectRefused(tunnel)
    }
  })

  it('to an address is joined without a server name, and refused with one', async () => {
    const hello = await helloFor('')
    const tunnel = await tunnelTo('192.0.2.7')
    tunnel.socket.write(hello)
    await expectJoined(tunnel, hello)
    const named = await tunnelTo('192.0.2.7')
    named.socket.write(await helloFor('hidden.example'))
    await expectRefused(named)
  })
})

/** Appends a second server_name extension to a ClientHello in one record. */
function twoNames(hello: Buffer, name: string): Buffer {
  const host = Buffer.from(name)
  const extension = Buffer.alloc(9 + host.length)
  extension.writeUInt16BE(0, 0)
  extension.writeUInt16BE(5 + host.length, 2)
  extension.writeUInt16BE(3 + host.length, 4)
  extension.writeUInt8(0, 6)
  extension.writeUInt16BE(host.length, 7)
  host.copy(extension, 9)
  const out = Buffer.concat([hello, extension])
  out.writeUInt16BE(out.readUInt16BE(3) + extension.length, 3)
  out.writeUIntBE(out.readUIntBE(6, 3) + extension.length, 6, 3)
  let at = 9 + 34
  at += 1 + out.readUInt8(at)
  at += 2 + out.readUInt16BE(at)
  at += 1 + out.readUInt8(at)
  out.writeUInt16BE(out.readUInt16BE(at) + extension.length, at)
  return out
}
