import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createDialer, type Dialer } from '../../../../sidecar/upstream/dial.ts'
import { createSessions, type Sessions } from '../../../../sidecar/upstream/http2/sessions.ts'
import { eventually } from '../../../support/eventually.ts'
import {
  type CallSeen,
  call,
  type GrpcServer,
  HOST,
  sayOk,
  startGrpcServer,
  startUpstream,
  type TestUpstream,
  targetAt,
} from './http2-upstream.ts'

const open: AsyncDisposable[] = []
// Only the sweep of the sessions is an interval: its clock is turned by hand.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }))
afterEach(async () => {
  vi.useRealTimers()
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

async function start(
  answer: (call: CallSeen) => void = sayOk,
  settings = {},
): Promise<{ server: GrpcServer; upstream: TestUpstream }> {
  const server = await startGrpcServer(answer, settings)
  const upstream = startUpstream()
  open.push(server, upstream)
  return { server, upstream }
}

const FIELDS = [':method', 'POST', ':scheme', 'https', ':authority', HOST, ':path', '/a.B/C']

function sessionsWith(
  options: Parameters<typeof createSessions>[1],
  dialer: Dialer = createDialer(),
): Sessions {
  const sessions = createSessions(dialer, options)
  open.push({ [Symbol.asyncDispose]: async () => sessions.close() })
  return sessions
}

/** One call on its own, from the stream to the end of the answer. */
async function callOn(sessions: Sessions, target: ReturnType<typeof targetAt>): Promise<void> {
  const { stream } = await sessions.begin(target, { fields: FIELDS, hasBody: false, isOver: () => false })
  stream.on('error', () => stream.destroy())
  stream.resume()
  await once(stream, 'close')
}

describe('the sessions of a target', () => {
  it('are one for calls at once and one after the other', async () => {
    const { server, upstream } = await start()
    await Promise.all(Array.from({ length: 50 }, () => call(upstream, server.target()).done))
    await call(upstream, server.target()).done
    expect(server.seen).toHaveLength(51)
    expect(server.connections).toBe(1)
  })

  it('are never shared with another target', async () => {
    const { server, upstream } = await start()
    await call(upstream, server.target()).done
    await call(upstream, server.target({ hostHeader: 'other.example.test' })).done
    expect(server.connections).toBe(2)
  })

  it('take no more calls at once than the server says, and more sessions carry the rest', async () => {
    const waiting: CallSeen[] = []
    const { server, upstream } = await start((seen) => waiting.push(seen), { maxConcurrentStreams: 2 })
    const calls = Array.from({ length: 5 }, () => call(upstream, server.target()))
    await eventually('all of them', () => (server.seen.length === 5 ? true : null))
    expect(server.connections).toBe(3)
    for (const seen of waiting) sayOk(seen)
    await Promise.all(calls.map(({ done }) => done))
    expect(calls.every(({ exchange }) => exchange.outcome.status === 200)).toBe(true)
  })

  it('that take no call at all are given up with a reason', async () => {
    const { server, upstream } = await start(sayOk, { maxConcurrentStreams: 0 })
    await expect(call(upstream, server.target()).done).rejects.toMatchObject({
      code: 'upstream_failed',
      message: expect.stringContaining('accepts no streams'),
    })
    expect(server.seen).toHaveLength(0)
  })

  it('complete their calls after GOAWAY, and the next call uses a new session', async () => {
    const waiting: CallSeen[] = []
    const { server, upstream } = await start((seen) => waiting.push(seen))
    const first = call(upstream, server.target())
    await eventually('the call', () => (waiting.length === 1 ? true : null))
    server.sessions[0]?.goaway(0)
    // Frames come in order: who has answered this has read that.
    await new Promise((read) => server.sessions[0]?.ping(read))
    const second = call(upstream, server.target())
    await eventually('the next call', () => (waiting.length === 2 ? true : null))
    expect(server.connections).toBe(2)
    for (const seen of waiting) sayOk(seen)
    await Promise.all([first.done, second.done])
    expect(first.exchange.reply.state).toBe('ended')
    expect(server.seen).toHaveLength(2)
  })

  it('that have closed since the last call are replaced, and the call arrives once', async () => {
    const { server, upstream } = await start()
    await call(upstream, server.target()).done
    server.sessions[0]?.close()
    await eventually('the end of the connection', () => (server.open.size === 0 ? true : null))
    const { exchange, done } = call(upstream, server.target())
    await done
    expect(exchange.outcome.status).toBe(200)
    expect(server.seen).toHaveLength(2)
    expect(server.connections).toBe(2)
  })

  it('that went silent are asked before they get a call, and replaced when they do not answer', async () => {
    const server = await startGrpcServer(sayOk)
    const wire = await startWire(server.port)
    open.push(server, wire)
    const sessions = sessionsWith({ probeMs: 100 })
    const target = targetAt(wire.port)
    await callOn(sessions, target)
    wire.freeze()
    vi.advanceTimersByTime(6_000)
    await callOn(sessions, target)
    expect(wire.connections).toBe(2)
    expect(server.seen).toHaveLength(2)
  })

  it('that went silent are not kept alive by calls that were given up on them', async () => {
    const server = await startGrpcServer(sayOk)
    const wire = await startWire(server.port)
    open.push(server, wire)
    const sessions = sessionsWith({ probeMs: 100 })
    const target = targetAt(wire.port)
    await callOn(sessions, target)
    wire.freeze()
    for (let second = 0; second < 6; second += 3) {
      const call = { fields: FIELDS, hasBody: false, isOver: () => false }
      const { stream, cancel } = await sessions.begin(target, call)
      stream.on('error', () => stream.destroy())
      vi.advanceTimersByTime(3_000)
      const closed = new Promise((resolve) => stream.once('close', resolve))
      cancel()
      await closed
    }
    await callOn(sessions, target)
    expect(wire.connections).toBe(2)
  })

  it('that were only idle answer the ping and are reused', async () => {
    const server = await startGrpcServer(sayOk)
    open.push(server)
    const sessions = sessionsWith({ probeMs: 5_000 })
    await callOn(sessions, server.target())
    vi.advanceTimersByTime(6_000)
    await Promise.all(Array.from({ length: 30 }, () => callOn(sessions, server.target())))
    expect(server.connections).toBe(1)
  })

  it('are closed when they are idle, and a call on them keeps them open', async () => {
    const waiting: CallSeen[] = []
    const server = await startGrpcServer((seen) => waiting.push(seen))
    open.push(server)
    const sessions = sessionsWith({ probeMs: 5_000 })
    const running = callOn(sessions, server.target())
    await eventually('the call', () => (waiting.length === 1 ? true : null))
    vi.advanceTimersByTime(120_000)
    for (const seen of waiting.splice(0)) sayOk(seen)
    await running
    const next = callOn(sessions, server.target())
    await eventually('the next call', () => (waiting.length === 1 ? true : null))
    for (const seen of waiting) sayOk(seen)
    await next
    expect(server.connections).toBe(1)
    vi.advanceTimersByTime(120_000)
    await eventually('the end of the connection', () => (server.open.size === 0 ? true : null))
  })

  it('take no call any more at a certain age, and end behind the last one', async () => {
    const waiting: CallSeen[] = []
    const server = await startGrpcServer((seen) => waiting.push(seen))
    open.push(server)
    const sessions = sessionsWith({ probeMs: 5_000 })
    const running = callOn(sessions, server.target())
    await eventually('the call', () => (waiting.length === 1 ? true : null))
    vi.advanceTimersByTime(601_000)
    const next = callOn(sessions, server.target())
    await eventually('the next call', () => (waiting.length === 2 ? true : null))
    expect(server.connections).toBe(2)
    for (const seen of waiting) sayOk(seen)
    await Promise.all([running, next])
    expect(server.seen.map(({ stream }) => stream.rstCode)).toEqual([0, 0])
    await eventually('the end of the old connection', () => (server.open.size === 1 ? true : null))
  })

  it('are not dialled again for a call whose agent has disconnected', async () => {
    const { server, upstream } = await start()
    const { exchange, done } = call(upstream, server.target())
    exchange.abort.abort(new Error('the agent disconnected'))
    await expect(done).rejects.toThrow()
    await eventually('the session', () => (server.connections === 1 ? true : null))
    await call(upstream, server.target()).done
    expect(server.seen).toHaveLength(1)
    expect(server.connections).toBe(1)
  })

  it('end with the gateway, and what runs on them fails', async () => {
    const { server, upstream } = await start(({ stream }) => stream.respond({ ':status': 200 }))
    const { exchange, done } = call(upstream, server.target())
    await eventually('the head', () => (exchange.reply.state === 'streaming' ? true : null))
    await upstream.close()
    await done
    expect(exchange.reply.state).toBe('destroyed')
    await eventually('the end of the connection', () => (server.open.size === 0 ? true : null))
  })
})

/** A wire to the server that can stop carrying anything without closing; connections made later work. */
async function startWire(port: number) {
  const sockets = new Set<Socket>()
  const state = { connections: 0 }
  const server = createServer((near) => {
    state.connections += 1
    const far = connect(port, '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
    }
    near.on('data', (chunk) => far.write(chunk))
    far.on('data', (chunk) => near.write(chunk))
    near.on('close', () => far.destroy())
    far.on('close', () => near.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return state.connections
    },
    freeze: () => sockets.forEach((socket) => void socket.pause()),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
