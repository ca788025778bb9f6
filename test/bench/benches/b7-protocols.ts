import { type ClientHttp2Session, connect } from 'node:http2'
import { cpuUs } from '../../support/processes.ts'
import { openTunnel, type Target } from '../../support/tunnel.ts'
import type { Bench } from '../main.ts'
import { eachSubject } from '../support/each.ts'
import { closedLoop } from '../support/load.ts'
import { absolute } from '../support/report.ts'

const BODY = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(4_040) }] })

/** The same request over HTTP/2 inside the tunnel, against our own HTTP/1.1. */
export const protocols: Bench = async (context) => {
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
