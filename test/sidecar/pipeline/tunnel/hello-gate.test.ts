import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { createIdleWatch } from '../../../../sidecar/pipeline/response/idle.ts'
import { judgeHello } from '../../../../sidecar/pipeline/tunnel/hello-gate.ts'
import { type ClientGate, splice } from '../../../../sidecar/pipeline/tunnel/splice.ts'
import { waitFor } from '../../../support/wait-for.ts'

const open: Array<() => void> = []
afterEach(() => {
  for (const close of open.splice(0)) close()
})

describe('the first bytes of a tunnel to another port than 443', () => {
  it.each(['SSH-2.0-x\r\n', 'GET / HTTP/1.1\r\n', '\u0000', '\u0015\u0003\u0001', '\u0080'])(
    'may be %j',
    (text) => {
      expect(judgeHello(Buffer.from(text, 'latin1'), 'a.example', 'matching')).toEqual({ kind: 'pass' })
    },
  )

  it('are judged where they are TLS', () => {
    expect(judgeHello(Buffer.from([22]), 'a.example', 'matching').kind).toBe('more')
    expect(judgeHello(Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0]), 'a.example', 'matching').kind).toBe('refuse')
    expect(judgeHello(Buffer.from([22, 3, 1, 0, 0, 23]), 'a.example', 'matching').kind).toBe('refuse')
  })
})

/** Two joined connections, and what arrived at the far end. */
async function joined(gate: Partial<ClientGate>) {
  const far: Buffer[] = []
  const accepted: Socket[] = []
  const server = createServer((socket) => {
    accepted.push(socket)
    socket.on('error', () => socket.destroy())
    socket.on('data', (chunk: Buffer) => far.push(chunk))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const [upstream, inner] = [connect(port, '127.0.0.1'), pair()]
  await once(upstream, 'connect')
  const idle = createIdleWatch(60_000)
  open.push(() => {
    idle.stop()
    server.close()
    for (const each of [upstream, ...accepted, ...inner]) each.destroy()
  })
  const abort = new AbortController()
  const counts = { up: 0, down: 0 }
  const whole: ClientGate = { isClientFirst: true, timeoutMs: 30, judge: () => 'more', ...gate }
  const ended = splice({
    client: inner[1],
    upstream,
    signal: abort.signal as never,
    idle,
    counts,
    gate: whole,
  })
  return { agent: inner[0], far: () => Buffer.concat(far).toString(), ended, accepted, counts }
}

function pair(): [Duplex, Duplex] {
  let other: Duplex
  const make = (peer: () => Duplex): Duplex =>
    new Duplex({
      read() {},
      write(chunk, _encoding, done) {
        peer().push(chunk)
        done()
      },
      final(done) {
        peer().push(null)
        done()
      },
    })
  const one = make(() => other)
  other = make(() => one)
  return [one, other]
}

describe('a gate before a tunnel', () => {
  it('refuses a client that says too little for too long', async () => {
    const { agent, ended, far } = await joined({})
    agent.write('half a hello')
    expect(await ended).toBe('refused')
    expect(far()).toBe('')
  })

  it('refuses a client that says nothing where it has to speak first', async () => {
    const { ended } = await joined({})
    expect(await ended).toBe('refused')
  })

  it('refuses a client that ends inside its hello', async () => {
    const { agent, ended, far } = await joined({ timeoutMs: 60_000 })
    agent.end('half')
    expect(await ended).toBe('refused')
    expect(far()).toBe('')
  })

  it('lets a server speak first where the client need not', async () => {
    const { agent, accepted, far, counts } = await joined({ isClientFirst: false, judge: () => 'pass' })
    await waitFor(() => expect(accepted).toHaveLength(1))
    accepted[0]?.write('220 welcome')
    expect(String((await once(agent, 'data'))[0])).toBe('220 welcome')
    agent.write('EHLO')
    await waitFor(() => expect(far()).toBe('EHLO'))
    expect(counts).toEqual({ up: 4, down: 11 })
  })

  it('passes on what was held, in order', async () => {
    const judge = (bytes: Buffer) => (bytes.length < 6 ? 'more' : 'pass')
    const { agent, far } = await joined({ judge, timeoutMs: 60_000 })
    for (const part of ['ab', 'cd', 'ef', 'gh']) agent.write(part)
    await waitFor(() => expect(far()).toBe('abcdefgh'))
  })

  it('ends with a client that leaves without a byte', async () => {
    const { agent, ended, far } = await joined({ timeoutMs: 60_000 })
    agent.resume()
    agent.end()
    expect(await ended).toBe('closed')
    expect(far()).toBe('')
  })
})
