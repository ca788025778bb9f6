// Calls one URL with every client that this version of Node can load, each as its documentation shows it, and prints
// what each one saw as one JSON line.

import http from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import https, { get as getByName } from 'node:https'
import { createRequire } from 'node:module'
import net from 'node:net'
import tls, { connect as connectByName } from 'node:tls'
import { Worker } from 'node:worker_threads'

const host = process.argv[2]
const url = `https://${host}/things`
const require = createRequire(import.meta.url)
const [major, minor] = process.versions.node.split('.').map(Number)
const isAtLeast = (wantedMajor, wantedMinor = 0) =>
  major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)

const text = (answer) =>
  new Promise((resolve, reject) => {
    let body = ''
    answer.on('data', (chunk) => {
      body += chunk
    })
    answer.on('end', () => resolve({ status: answer.statusCode, body }))
    answer.on('error', reject)
  })
const got = (get, ...args) =>
  new Promise((resolve, reject) =>
    get(...args, (answer) => text(answer).then(resolve, reject)).on('error', reject),
  )
const ofFetch = async (answer) => ({ status: answer.status, body: await answer.text() })
const raw = (socket, event) =>
  new Promise((resolve, reject) => {
    let bytes = ''
    socket.on('error', reject)
    socket.on(event, () => socket.write(`GET /things HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`))
    socket.on('data', (chunk) => {
      bytes += chunk
    })
    socket.on('end', () => resolve({ status: Number(bytes.split(' ')[1]), body: bytes.split('\r\n\r\n')[1] }))
  })
const undici = (name) => async () => ofFetch(await require(name).fetch(url))
const undiciClient = (name) => async () => {
  const { Client } = require(name)
  const { statusCode, body } = await new Client(`https://${host}`).request({ path: '/things', method: 'GET' })
  return { status: statusCode, body: await body.text() }
}

const CLIENTS = {
  fetch: async () => ofFetch(await fetch(url)),
  https: () => got(https.get, url),
  'https, imported by name': () => got(getByName, url),
  'https with an agent of its own': () =>
    got(https.get, url, { agent: new https.Agent({ keepAlive: true }) }),
  'https without an agent': () => got(https.get, url, { agent: false }),
  'http without TLS': () => got(http.get, `http://${host}/things`),
  http2: () =>
    new Promise((resolve, reject) => {
      const session = connectHttp2(`https://${host}`)
      session.on('error', reject)
      const stream = session.request({ ':path': '/things' })
      let [status, body] = [0, '']
      stream.on('response', (headers) => {
        status = headers[':status']
      })
      stream.on('data', (chunk) => {
        body += chunk
      })
      stream.on('end', () => {
        session.close()
        resolve({ status, body })
      })
    }),
  'tls.connect with options': () => raw(tls.connect({ host, port: 443, servername: host }), 'secureConnect'),
  'tls.connect with a port': () => raw(tls.connect('443', host, { servername: host }), 'secureConnect'),
  'tls.connect that waits for connect': () => raw(tls.connect(443, host, { servername: host }), 'connect'),
  'tls.connect, imported by name': () =>
    raw(connectByName({ host, port: 443, servername: host }), 'secureConnect'),
  'net.connect': () => raw(net.connect(80, host), 'connect'),
  'a socket that connects later': () => raw(new net.Socket().connect({ host, port: 80 }), 'ready'),
  'a socket that is written to before it is connected': () => raw(net.connect({ host, port: 80 }), 'lookup'),
  'TLS over a socket of its own': () => {
    const socket = net.connect(443, host)
    return new Promise((resolve, reject) => {
      socket.on('error', reject)
      socket.on('connect', () =>
        raw(tls.connect({ socket, servername: host }), 'secureConnect').then(resolve, reject),
      )
    })
  },
  'a worker': () =>
    new Promise((resolve, reject) => {
      const code = `fetch('${url}').then(async (a) => require('node:worker_threads').parentPort.postMessage({ status: a.status, body: await a.text() }))`
      new Worker(code, { eval: true, execArgv: [] }).on('message', resolve).on('error', reject)
    }),
  axios: async () => {
    const { status, data } = await require('axios').get(url, { transformResponse: (body) => body })
    return { status, body: data }
  },
  'axios without its own proxy support': async () => {
    const { status, data } = await require('axios').get(url, {
      proxy: false,
      transformResponse: (body) => body,
    })
    return { status, body: data }
  },
  'got 11': async () => {
    const { statusCode, body } = await require('got11')(url, {
      retry: 0,
      timeout: { lookup: 20_000, connect: 20_000 },
    })
    return { status: statusCode, body }
  },
  'got 11 with HTTP/2': async () => {
    const { statusCode, body } = await require('got11')(url, { retry: 0, http2: true })
    return { status: statusCode, body }
  },
  ...(isAtLeast(20) && {
    got: async () => {
      const { statusCode, body } = await (await import('got')).default(url, { retry: { limit: 0 } })
      return { status: statusCode, body }
    },
  }),
  'undici 5': undici('undici5'),
  'undici 6': undici('undici6'),
  'a Client of undici 6': undiciClient('undici6'),
  ...(isAtLeast(22, 19) && { undici: undici('undici'), 'a Client of undici': undiciClient('undici') }),
  ws: () =>
    new Promise((resolve, reject) => {
      const socket = new (require('ws'))(`wss://api.openai.com/v1/realtime`)
      socket.once('open', () => socket.send('ping'))
      socket.once('message', (data) => {
        socket.close()
        resolve({ status: 101, body: String(data) })
      })
      socket.once('error', reject)
    }),
  stripe: async () => {
    const Stripe = require(isAtLeast(20) ? 'stripe' : 'stripe17')
    const stripe = new (Stripe.default ?? Stripe)(process.env.STRIPE_API_KEY, {
      maxNetworkRetries: 0,
      telemetry: false,
    })
    return { status: 200, body: (await stripe.customers.create({ email: 'a@example.com' })).id }
  },
}

for (const [client, call] of Object.entries(CLIENTS)) {
  const seen = await call().catch((error) => ({ error: String(error?.cause ?? error) }))
  process.stdout.write(`${JSON.stringify({ client, ...seen })}\n`)
}
