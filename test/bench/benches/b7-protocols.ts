import { type ClientHttp2Session, connect } from 'node:http2'
import { WebSocket } from 'ws'
import { cpuUs } from '../../support/processes.ts'
import { openTunnel, type Target } from '../../support/tunnel.ts'
import type { Bench, BenchContext } from '../main.ts'
import { eachSubject } from '../support/each.ts'
import { closedLoop } from '../support/load.ts'
import { absolute, compare, type Row } from '../support/report.ts'

const BODY = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(4_040) }] })

/** The same request over HTTP/2 inside the tunnel, against our own HTTP/1.1; and messages on open WebSockets. */
export const protocols: Bench = async (context) => [...(await http2(context)), ...(await webSockets(context))]

async function webSockets(context: BenchContext): Promise<Row[]> {
  const cpu = new Map<string, number>()
  const messages = context.isQuick ? 8_000 : 32_000
  await eachSubject(
    context,
    async (subject) => {
      const sockets = await Promise.all(Array.from({ length: 16 }, () => openWebSocket(subject.target)))
      await pingPong(sockets, messages / 4)
      const before = cpuUs(subject.pid)
      await pingPong(sockets, messages)
      cpu.set(subject.name, (cpuUs(subject.pid) - before) / messages)
      for (const socket of sockets) socket.terminate()
    },
    ['chaperone', 'mockttp', 'haproxy'],
  )
  return compare('B7', 'WebSocket CPU us/message there and back', cpu)
}

async function openWebSocket(target: Target): Promise<WebSocket> {
  const socket = await openTunnel(target, 'api.openai.com')
  const client = new WebSocket('ws://api.openai.com/v1/realtime', {
    createConnection: () => socket,
    perMessageDeflate: false,
  })
  await new Promise((resolve, reject) => client.once('open', resolve).once('error', reject))
  return client
}

/** 64 bytes to the upstream and back, one at a time on every socket. */
async function pingPong(sockets: readonly WebSocket[], messages: number): Promise<void> {
  const message = Buffer.alloc(64, 0x61)
  let left = messages
  await Promise.all(
    sockets.map(async (socket) => {
      while (left > 0) {
        left -= 1
        const echoed = new Promise((resolve, reject) => {
          socket.once('message', resolve).once('close', () => reject(new Error('the WebSocket closed')))
        })
        socket.send(message)
        await echoed
        socket.removeAllListeners('close')
      }
    }),
  )
}

async function http2(context: BenchContext): Promise<Row[]> {
  let ratio = Number.NaN
  const size = context.isQuick ? 4_000 : 16_000
  await eachSubject(
    context,
    async (subject) => {
      await closedLoop(subject.target, 32, size / 4)
      const start = cpuUs(subject.pid)
      await closedLoop(subject.target, 32, size)
      const middle = cpuUs(subject.pid)
      await http2Loop(subject.target, size / 4)
      const warm = cpuUs(subject.pid)
      await http2Loop(subject.target, size)
      ratio = (cpuUs(subject.pid) - warm) / (middle - start)
    },
    ['chaperone'],
  )
  return [absolute('B7', 'h2 CPU/request over own HTTP/1.1', ratio, 1.3)]
}

async function http2Loop(target: Target, requests: number): Promise<void> {
  const sessions = await Promise.all(Array.from({ length: 4 }, () => session(target)))
  let left = requests
  await Promise.all(
    Array.from({ length: 32 }, async (_, lane) => {
      const client = sessions[lane % sessions.length]
      while (left > 0 && client !== undefined) {
        left -= 1
        await post(client)
      }
    }),
  )
  for (const client of sessions) client.destroy()
}

async function session(target: Target): Promise<ClientHttp2Session> {
  const socket = await openTunnel(target, 'api.openai.com', ['h2'])
  return connect('https://api.openai.com', { createConnection: () => socket })
}

function post(client: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = client.request({
      ':method': 'POST',
      ':path': '/v1/chat/completions',
      'content-type': 'application/json',
      'content-length': String(BODY.length),
    })
    stream.on('response', (headers) => {
      if (headers[':status'] !== 200) reject(new Error(`h2 answered ${headers[':status']}`))
    })
    stream.on('error', reject)
    stream.on('end', resolve)
    stream.resume()
    stream.end(BODY)
  })
}
