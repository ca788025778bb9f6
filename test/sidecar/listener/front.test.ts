import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { rootCertificates, type TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { bodyOf, RawClient, rawClient, startFront, tlsTunnel, tunnel, until } from './harness.ts'

const run = promisify(execFile)

describe('protocol detection on one port', () => {
  it('gives origin-form requests to the API with path, query, headers and body', async () => {
    await using t = await startFront()
    const client = await rawClient(t.port)
    client.send(
      'POST /internal/x?a=1&b=%2F HTTP/1.1\r\nHost: localhost\r\nX-Two: 1\r\nX-Two: 2\r\nContent-Length: 3\r\n',
    )
    client.send('Connection: close\r\n\r\nabc')
    expect(await client.all()).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(t.apiRequests).toHaveLength(1)
    const [request] = t.apiRequests
    expect(request).toMatchObject({
      method: 'POST',
      path: '/internal/x',
      query: 'a=1&b=%2F',
      remoteAddress: '127.0.0.1',
    })
    expect(request?.body.toString()).toBe('abc')
    expect(request?.headers.join('|')).toContain('X-Two|1|X-Two|2')
    expect(t.exchanges).toHaveLength(0)
  })

  it('refuses an API body over 1 MiB with 413 that the client can read while it still sends', async () => {
    await using t = await startFront()
    const client = await rawClient(t.port)
    client.send(`POST /internal/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n`)
    client.send(Buffer.alloc(3_000_000))
    expect(await client.all()).toMatch(/^HTTP\/1\.1 413 .*Connection: close/s)
    expect(client.error).toBeNull()
    expect(t.apiRequests).toHaveLength(0)
  })

  it('makes an absolute-form request an exchange with the credentials of the proxy header', async () => {
    await using t = await startFront()
    const client = await rawClient(t.port)
    client.send(
      'GET http://api.example/x HTTP/1.1\r\nHost: api.example\r\nProxy-Authorization: Basic YTpi\r\nConnection: close\r\n\r\n',
    )
    const answer = JSON.parse(bodyOf(await client.all()))
    expect(answer).toMatchObject({
      target: 'http://api.example/x',
      transport: 'absolute',
      kind: 'http',
      scheme: 'http',
      credentials: { kind: 'basic', header: 'Basic YTpi' },
    })
    expect(answer.headers).toEqual([
      'Host',
      'api.example',
      'Proxy-Authorization',
      'Basic YTpi',
      'Connection',
      'close',
    ])
  })

  it('decrypts what a CONNECT carries and names the tunnel, the server name and the credentials on every request', async () => {
    await using t = await startFront()
    const secure = await tlsTunnel(t.port, {
      ca: t.ca.caPem,
      host: 'api.example',
      alpn: ['http/1.1'],
      headers: 'Proxy-Authorization: Basic YTpi\r\n',
    })
    const client = new RawClient(secure)
    client.send(
      'GET /one HTTP/1.1\r\nHost: api.example\r\n\r\nGET /two HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n',
    )
    await client.all()
    expect(t.exchanges.map((e) => e.raw.target)).toEqual(['/one', '/two'])
    for (const exchange of t.exchanges) {
      expect(exchange).toMatchObject({
        transport: 'connect-h1',
        kind: 'http',
        credentials: { kind: 'basic', header: 'Basic YTpi' },
        raw: { scheme: 'https', sources: { connectAuthority: 'api.example:443', sni: 'api.example' } },
      })
    }
  })

  it('serves plain HTTP inside a tunnel with scheme http', async () => {
    await using t = await startFront()
    const client = await tunnel(t.port, 'api.example:80')
    client.send('GET /x HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n')
    expect(JSON.parse(bodyOf(await client.all()))).toMatchObject({
      scheme: 'http',
      sources: { connectAuthority: 'api.example:80' },
      transport: 'connect-h1',
    })
  })

  it('leaves a CONNECT that is not admitted to the pipeline, which answers it', async () => {
    await using t = await startFront({
      admit: () => 'pipeline',
      handle: async ({ reply }) => reply.send(403, [], '{"error":"denied"}'),
    })
    const client = await rawClient(t.port)
    client.send('CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n')
    await client.until(({ received }) => received.includes('denied'))
    expect(client.received).toMatch(/^HTTP\/1\.1 403 denied\r\n/)
    expect(t.exchanges).toHaveLength(1)
    expect(t.exchanges[0]).toMatchObject({
      kind: 'tunnel',
      transport: 'connect',
      raw: { method: 'CONNECT', target: 'evil.example:443' },
    })
  })

  it('hands the raw stream of a CONNECT over with the bytes that came early', async () => {
    await using t = await startFront({
      admit: () => 'pipeline',
      handle: async ({ reply }) => {
        const stream = reply.upgrade('HTTP/1.1 200 Connection Established\r\n\r\n')
        stream.on('data', (chunk: Buffer) => stream.write(chunk.toString().toUpperCase()))
        stream.resume()
      },
    })
    const client = await rawClient(t.port)
    client.send('CONNECT a.example:22 HTTP/1.1\r\nHost: a.example:22\r\n\r\nearly')
    await client.until(({ received }) => received.endsWith('EARLY'))
    client.send(' later')
    await client.until(({ received }) => received.endsWith('EARLY LATER'))
  })

  it('lets a client resume its TLS session on another connection', async () => {
    await using t = await startFront()
    const open = (session?: Buffer): Promise<TLSSocket> =>
      tlsTunnel(t.port, {
        ca: t.ca.caPem,
        host: 'api.example',
        ...(session === undefined ? {} : { session }),
      })
    const first = await open()
    const ticket = new Promise<Buffer>((resolve) => first.once('session', resolve))
    first.write('GET / HTTP/1.1\r\nHost: api.example\r\n\r\n')
    first.resume()
    const second = await open(await ticket)
    expect([first.isSessionReused(), second.isSessionReused()]).toEqual([false, true])
    const client = new RawClient(second)
    client.send('GET /resumed HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n')
    expect(JSON.parse(bodyOf(await client.all()))).toMatchObject({
      target: '/resumed',
      sources: { sni: 'api.example' },
    })
    first.destroy()
  })

  it('survives a client that names a server which cannot have a certificate, on the port and in a tunnel', async () => {
    await using t = await startFront()
    const { connect } = await import('node:tls')
    const direct = connect({
      port: t.port,
      host: '127.0.0.1',
      servername: 'not a name',
      ca: t.ca.caPem,
    })
    await expect(once(direct, 'secureConnect')).rejects.toThrow()
    await expect(
      tlsTunnel(t.port, { ca: t.ca.caPem, host: 'a.example', servername: 'a b' }),
    ).rejects.toThrow()
    await until(
      () => t.exchanges.length === 1,
      () => 'the record of the failed handshake',
    )
    expect(t.exchanges[0]?.malformed?.detail).toContain('neither a host name nor an address')
  })

  it('answers 500 when admission or the pipeline throws before its first await', async () => {
    const fail = (): never => {
      throw new Error('broken')
    }
    await using t = await startFront({ admit: fail, handle: fail })
    for (const line of ['CONNECT a.example:443', 'GET http://a.example/']) {
      const client = await rawClient(t.port)
      client.send(`${line} HTTP/1.1\r\nHost: a.example\r\n\r\n`)
      expect(await client.all()).toMatch(/^HTTP\/1\.1 500 /)
    }
  })

  it('speaks TLS on the port itself for https:// proxies, with CONNECT and TLS inside', async () => {
    await using t = await startFront()
    const { stdout } = await run('curl', [
      '-sS',
      '--http1.1',
      '--proxy-cacert',
      t.caFile,
      '--cacert',
      t.caFile,
      '-x',
      `https://127.0.0.1:${t.port}`,
      '--proxy-user',
      'bot:key',
      'https://api.example/inner',
    ])
    expect(JSON.parse(stdout)).toMatchObject({ target: '/inner', scheme: 'https', transport: 'connect-h1' })
  })

  it('records one exchange when the client refuses our certificate, and answers the next connection', async () => {
    await using t = await startFront()
    await expect(tlsTunnel(t.port, { ca: rootCertificates[0] ?? '', host: 'api.example' })).rejects.toThrow()
    await until(
      () => t.exchanges.length > 0,
      () => 'the record of the failed handshake',
    )
    expect(t.exchanges).toHaveLength(1)
    expect(t.exchanges[0]?.malformed?.code).toBe('malformed_request')
    expect(t.exchanges[0]?.malformed?.detail).toMatch(/^TLS handshake with the client failed: /)
    expect(t.exchanges[0]?.raw.sources).toMatchObject({ connectAuthority: 'api.example:443' })
    const secure = await tlsTunnel(t.port, { ca: t.ca.caPem, host: 'api.example' })
    const client = new RawClient(secure)
    client.send('GET /next HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n')
    await client.all()
    expect(t.exchanges.map((e) => e.raw.target)).toEqual(['api.example:443', '/next'])
  })

  it('records one exchange when a client that checks during the handshake refuses our certificate', async () => {
    await using t = await startFront()
    const options = ['-sS', '--max-time', '5', '-x', `http://127.0.0.1:${t.port}`, 'https://api.example/']
    await expect(run('curl', options)).rejects.toThrow(/certificate/)
    await until(
      () => t.exchanges.length > 0,
      () => 'the record of the failed handshake',
    )
    expect(t.exchanges).toHaveLength(1)
    expect(t.exchanges[0]?.malformed?.detail).toMatch(/^TLS handshake with the client failed: .*alert/i)
  })

  it('records one exchange when the client speaks no protocol that we speak', async () => {
    await using t = await startFront()
    await expect(
      tlsTunnel(t.port, { ca: t.ca.caPem, host: 'api.example', alpn: ['spdy/3'] }),
    ).rejects.toThrow()
    await until(
      () => t.exchanges.length > 0,
      () => 'the record of the failed handshake',
    )
    expect(t.exchanges).toHaveLength(1)
  })

  it('reassembles a ClientHello that arrives byte by byte', async () => {
    await using t = await startFront()
    const { socket } = await tunnel(t.port, 'api.example:443')
    socket.removeAllListeners('data')
    const { Duplex } = await import('node:stream')
    const { connect } = await import('node:tls')
    let isFirst = true
    const dribble = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, callback) {
        const step = isFirst ? 7 : chunk.length
        isFirst = false
        const send = (at: number): void => {
          if (at >= chunk.length) callback()
          else socket.write(chunk.subarray(at, at + step), () => setImmediate(send, at + step))
        }
        send(0)
      },
    })
    socket.setNoDelay(true)
    socket.on('data', (chunk) => dribble.push(chunk))
    const secure = connect({ socket: dribble, servername: 'api.example', ca: t.ca.caPem })
    const client = new RawClient(secure as never)
    client.send('GET /slow-hello HTTP/1.1\r\nHost: api.example\r\n\r\n')
    await client.until(({ received }) => received.includes('/slow-hello'))
    expect(t.exchanges[0]?.raw.sources.sni).toBe('api.example')
    socket.destroy()
  })

  it('accepts curl over HTTP/1.1 and HTTP/2 through CONNECT with certificate checks on', async () => {
    await using t = await startFront()
    for (const [flag, transport] of [
      ['--http1.1', 'connect-h1'],
      ['--http2', 'connect-h2'],
    ] as const) {
      const { stdout } = await run('curl', [
        '-sS',
        flag,
        '--cacert',
        t.caFile,
        '-x',
        `http://bot:key@127.0.0.1:${t.port}`,
        '-d',
        'hello',
        'https://api.example/x?y=1',
      ])
      expect(JSON.parse(stdout)).toMatchObject({ method: 'POST', target: '/x?y=1', transport, body: 'hello' })
    }
  })
})

describe('agent ports', () => {
  it('of a pod name their agent without a key, for absolute-form and for tunnels', async () => {
    await using t = await startFront()
    const port = await t.front.openAgentPort('bot')
    const plain = await rawClient(port)
    plain.send('GET http://api.example/x HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n')
    expect(JSON.parse(bodyOf(await plain.all()))).toMatchObject({
      transport: 'port-absolute',
      credentials: { kind: 'port', agent: 'bot' },
    })
    const secure = await tlsTunnel(port, { ca: t.ca.caPem, host: 'api.example', alpn: ['http/1.1'] })
    const client = new RawClient(secure)
    client.send('GET /y HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n')
    expect(JSON.parse(bodyOf(await client.all()))).toMatchObject({
      transport: 'port-h1',
      credentials: { kind: 'port', agent: 'bot' },
    })
  })

  it('answer origin-form requests with an explaining 404, and never reach the API', async () => {
    await using t = await startFront()
    const port = await t.front.openAgentPort('bot')
    const client = await rawClient(port)
    client.send('GET /internal/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    const answer = await client.all()
    expect(answer).toMatch(/^HTTP\/1\.1 404/)
    expect(JSON.parse(bodyOf(answer)).message).toContain(`http://NAME:KEY@127.0.0.1:${port}`)
    expect(t.apiRequests).toHaveLength(0)
    expect(t.exchanges).toHaveLength(0)
  })

  it('take TLS that was redirected to them and read the host from the server name', async () => {
    await using t = await startFront()
    const port = await t.front.openAgentPort('bot')
    const { connect } = await import('node:tls')
    const secure = connect({ port, host: '127.0.0.1', servername: 'api.example', ca: t.ca.caPem })
    const client = new RawClient(secure)
    client.send('GET /y HTTP/1.1\r\nHost: api.example\r\nConnection: close\r\n\r\n')
    expect(JSON.parse(bodyOf(await client.all()))).toMatchObject({
      transport: 'port-h1',
      sources: { sni: 'api.example' },
    })
  })

  it('can be closed, which ends their connections, and opened again on the same port', async () => {
    await using t = await startFront()
    const port = await t.front.openAgentPort('bot')
    const idle = await rawClient(port)
    await t.front.closeAgentPort('bot')
    await idle.all()
    await expect(rawClient(port)).rejects.toThrow(/ECONNREFUSED/)
    expect(await t.front.openAgentPort('bot', port)).toBe(port)
    await expect(t.front.openAgentPort('other', port)).rejects.toThrow(/EADDRINUSE/)
  })
})

describe('limits and shutdown', () => {
  it('answers 503 with the name of the limit over it, and takes connections again when one left', async () => {
    await using t = await startFront({ limits: { maxConnections: 1 } })
    const port = await t.front.openAgentPort('bot')
    const first = await rawClient(port)
    await until(
      () => t.front.connections === 1,
      () => 'the first connection',
    )
    const second = await rawClient(port)
    expect(await second.all()).toMatch(
      /^HTTP\/1\.1 503 .*Connection: close\r\n\r\n\{"error":"not ready".*\(MAX_CONNECTIONS\)/s,
    )
    expect(t.quotas).toEqual(['bot MAX_CONNECTIONS'])
    const health = await rawClient(t.port)
    health.send('GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    expect(await health.all()).toMatch(/^HTTP\/1\.1 200/)
    for (const client of [first, second]) client.socket.destroy()
    await until(
      () => t.front.connections === 0,
      () => 'the connections to leave',
    )
    const third = await rawClient(port)
    third.send('GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n')
    expect(await third.all()).toMatch(/^HTTP\/1\.1 200/)
  })

  it('brings each connection over the limit before the pipeline once, with the agent whose port it is', async () => {
    await using t = await startFront({ limits: { maxConnections: 1 } })
    const port = await t.front.openAgentPort('bot')
    const first = await rawClient(port)
    await until(
      () => t.front.connections === 1,
      () => 'the first connection',
    )
    const over = await rawClient(port)
    over.send('GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n')
    expect(await over.all()).toMatch(/^HTTP\/1\.1 503 /)
    expect(t.exchanges.map(({ malformed, credentials }) => [malformed?.code, credentials])).toEqual([
      ['not_ready', { kind: 'port', agent: 'bot' }],
    ])
    first.socket.destroy()
  })

  it('ends a connection over the limit that the pipeline does not answer', async () => {
    await using t = await startFront({ limits: { maxConnections: 0 }, refuse: async () => undefined })
    expect(await (await rawClient(await t.front.openAgentPort('bot'))).all()).toBe('')
    await using u = await startFront({
      limits: { maxConnections: 0 },
      refuse: () => Promise.reject(new Error('broken')),
    })
    expect(await (await rawClient(await u.front.openAgentPort('bot'))).all()).toBe('')
    expect(u.failures).toHaveLength(1)
  })

  it('finishes the request at hand when it closes, says so to the client, and ends idle connections at once', async () => {
    let release = (): void => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    await using t = await startFront({
      handle: async ({ reply }) => {
        await held
        reply.send(200, [], 'done')
      },
    })
    const idle = await rawClient(t.port)
    const busy = await rawClient(t.port)
    busy.send('GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n')
    await until(
      () => t.exchanges.length === 1,
      () => 'the request',
    )
    const closed = t.front.close(5_000)
    await idle.all()
    release()
    expect(await busy.all()).toMatch(/Connection: close.*done$/s)
    busy.socket.end()
    await closed
  })

  it('cuts what is still busy after the grace period', async () => {
    await using t = await startFront({ handle: () => new Promise(() => {}) })
    const busy = await rawClient(t.port)
    busy.send('GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n')
    await until(
      () => t.exchanges.length === 1,
      () => 'the request',
    )
    await t.front.close(50)
    expect(t.exchanges[0]?.abort.signal.aborted).toBe(true)
    await busy.all()
  })
})
