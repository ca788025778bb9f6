import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import type { Exchange } from '../../../../sidecar/pipeline/exchange.ts'
import { RawClient, startFront, tlsTunnel, tunnel, until } from '../harness.ts'

describe('large uploads', () => {
  it.each(['http/1.1', 'h2'])(
    'of 100 MB stream through without being kept, over TLS and %s',
    async (protocol) => {
      const total = 100 * 1024 * 1024
      let highest = 0
      await using t = await startFront({
        handle: async ({ body, reply }) => {
          let bytes = 0
          const stream = body.forward()
          if (!(stream instanceof Readable)) throw new Error('expected a stream')
          for await (const chunk of stream) {
            bytes += chunk.length
            highest = Math.max(highest, process.memoryUsage().rss)
            await new Promise(setImmediate)
          }
          reply.send(200, [], String(bytes))
        },
      })
      const secure = await tlsTunnel(t.port, { ca: t.ca.caPem, host: 'a.example', alpn: [protocol] })
      const before = process.memoryUsage().rss
      const chunks = Readable.from(
        (function* () {
          for (let i = 0; i < total / 65_536; i++) yield Buffer.alloc(65_536, i)
        })(),
      )
      if (protocol === 'h2') {
        const { connect } = await import('node:http2')
        const session = connect('https://a.example', { createConnection: () => secure })
        const stream = session.request({ ':method': 'POST', ':path': '/' })
        chunks.pipe(stream)
        let answer = ''
        for await (const chunk of stream) answer += chunk
        expect(answer).toBe(String(total))
        session.destroy()
      } else {
        const client = new RawClient(secure)
        client.send(`POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: ${total}\r\n\r\n`)
        chunks.pipe(secure, { end: false })
        await client.until(({ received }) => received.endsWith(String(total)))
      }
      // Client and server are in this process, and some 100 MiB of what both have let go wait for the collector: a body
      // that was kept would come on top of them.
      expect((highest - before) / 1024 / 1024).toBeLessThan(160)
    },
  )
})

describe('an upgrade', () => {
  it('becomes a WebSocket through the raw stream', async () => {
    const sockets = new WebSocketServer({ noServer: true })
    await using t = await startFront({
      handle: async ({ kind, raw, reply }: Exchange) => {
        expect(kind).toBe('upgrade')
        const headers: Record<string, string> = {}
        for (let i = 0; i < raw.rawHeaders.length; i += 2) {
          headers[raw.rawHeaders[i]!.toLowerCase()] = raw.rawHeaders[i + 1]!
        }
        // The library writes the 101 itself.
        const request = { method: raw.method, url: raw.target, headers } as IncomingMessage
        sockets.handleUpgrade(request, reply.upgrade(''), Buffer.alloc(0), (socket) => {
          socket.on('message', (data) => socket.send(`echo ${data}`))
        })
      },
    })
    const secure = await tlsTunnel(t.port, { ca: t.ca.caPem, host: 'a.example', alpn: ['http/1.1'] })
    const client = new WebSocket('ws://a.example/socket', { createConnection: () => secure })
    const answer = new Promise((resolve) => client.on('message', (data) => resolve(String(data))))
    client.on('open', () => client.send('hello'))
    expect(await answer).toBe('echo hello')
    client.terminate()
    await until(
      () => t.exchanges[0]?.abort.signal.aborted === true,
      () => 'the abort of the upgraded exchange',
    )
    sockets.close()
  })

  it('that is refused leaves an ordinary connection', async () => {
    await using t = await startFront({ handle: async ({ reply }) => reply.send(403, [], 'no') })
    const client = await tunnel(t.port, 'a.example:80')
    const request = 'GET / HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
    client.send(request)
    await client.until(({ received }) => received.endsWith('no'))
    client.send(request)
    await client.until(({ received }) => received.split('403').length === 3)
    expect(t.exchanges.map((e) => e.kind)).toEqual(['upgrade', 'upgrade'])
  })
})
