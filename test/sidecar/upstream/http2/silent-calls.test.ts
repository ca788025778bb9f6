import { once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
} from 'node:http2'
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { eventually } from '../../../support/eventually.ts'
import { startFront, tlsTunnel } from '../../listener/harness.ts'
import { type CallSeen, type GrpcServer, startGrpcServer, startUpstream } from './http2-upstream.ts'

/** A call between a real client and a real server, with an idle limit that is over many times while nobody says a word. */
const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

type Chain = {
  readonly server: GrpcServer
  readonly wires: { readonly server: Wire; readonly client: Wire }
  readonly session: ClientHttp2Session
  readonly call: ClientHttp2Stream
  readonly head: Promise<IncomingHttpHeaders[]>
  readonly seen: CallSeen
  readonly pings: { server: number; client: number }
}

/** Stays open, and from one moment on carries nothing: as after somebody pulled a plug. */
type Wire = AsyncDisposable & { readonly port: number; cut(): void }

async function startWire(to: number): Promise<Wire> {
  const sockets = new Set<Socket>()
  const wire = createServer((near) => {
    const far = connectTcp(to, '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
    }
    near.pipe(far).pipe(near)
  })
  wire.listen(0, '127.0.0.1')
  await once(wire, 'listening')
  return {
    port: (wire.address() as AddressInfo).port,
    cut() {
      for (const socket of sockets) socket.unpipe().pause()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => wire.close(done))
    },
  }
}

async function start(answer: (call: CallSeen) => void): Promise<Chain> {
  const server = await startGrpcServer(answer)
  const serverWire = await startWire(server.port)
  const target = server.target({ port: serverWire.port })
  const upstream = startUpstream({ idleTimeoutMs: 60 })
  const front = await startFront({
    handle: async (exchange) => {
      const { method, target: path, rawHeaders } = exchange.raw
      const body = exchange.body.forward()
      await upstream.forward(exchange, { target, method, path, rawHeaders, body })
    },
  })
  const clientWire = await startWire(front.port)
  const socket = await tlsTunnel(clientWire.port, {
    ca: front.ca.caPem,
    host: 'a.example',
    alpn: ['h2'],
  })
  const session = connect('https://a.example', { createConnection: () => socket })
  session.on('error', () => session.destroy())
  open.push(server, serverWire, upstream, front, clientWire, {
    [Symbol.asyncDispose]: async () => session.destroy(),
  })
  const call = session.request(
    { ':method': 'POST', ':path': '/a.B/C', 'content-type': 'application/grpc', te: 'trailers' },
    { endStream: false },
  )
  call.on('error', () => undefined)
  const head = once(call, 'response')
  call.write('question')
  const seen = await eventually('the call', () => server.seen[0] ?? null)
  const pings = { server: 0, client: 0 }
  server.sessions[0]?.on('ping', () => pings.server++)
  session.on('ping', () => pings.client++)
  const wires = { server: serverWire, client: clientWire }
  return { server, wires, session, call, head, seen, pings }
}

function startTalking({ stream }: CallSeen): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
}

it('outlives the idle limit as long as both ends answer pings, before the head and behind it', async () => {
  const { call, head, seen, pings } = await start(() => undefined)
  await eventually('three rounds', () => (pings.server >= 3 && pings.client >= 3 ? true : null))
  startTalking(seen)
  expect((await head)[0]?.[':status']).toBe(200)
  const sofar = pings.client
  await eventually('three more', () => (pings.client >= sofar + 3 ? true : null))
  seen.stream.end('late')
  const [chunk] = await once(call, 'data')
  expect(String(chunk)).toBe('late')
  const [trailers] = await once(call, 'trailers')
  expect(trailers['grpc-status']).toBe('0')
})

it('is cut when its server answers no ping', async () => {
  const { call, head, wires } = await start(startTalking)
  await head
  const trailers = once(call.resume(), 'trailers')
  wires.server.cut()
  expect((await trailers)[0]).toMatchObject({ 'grpc-status': '14' })
})

it('is taken back from the server when its client answers no ping', async () => {
  const { seen, wires, head } = await start(startTalking)
  await head
  wires.client.cut()
  await eventually('the reset', () => (seen.stream.rstCode === 8 ? true : null))
})

it.each(['client', 'server'])(
  'is cut for a %s that answers pings and reads nothing of what it was sent',
  async (who) => {
    const { seen, call, head } = await start(startTalking)
    await head
    // More than both windows and all buffers between take.
    if (who === 'client') seen.stream.write(Buffer.alloc(8 * 1024 * 1024))
    else {
      seen.stream.removeAllListeners('data').pause()
      call.write(Buffer.alloc(8 * 1024 * 1024))
    }
    await eventually('the reset', () => (seen.stream.rstCode === 8 ? true : null))
  },
)
