import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import fastify from 'fastify'
import { expect, test } from 'vitest'
import { listen } from '../../../controlplane/http/listen.ts'

const CONNECTIONS = 1_000
/** Connects, and counts the connections that are established. */
const CLIENTS = `
  const { connect } = require('node:net')
  const { workerData: { port, count, total } } = require('node:worker_threads')
  for (let n = 0; n < total; n += 1) {
    connect(port, '127.0.0.1').on('error', () => undefined).once('connect', () => {
      Atomics.add(count, 0, 1)
      Atomics.notify(count, 0)
    })
  }`

// Linux shortens the queue to this length; without the file, the length of the queue cannot be known.
const queue = (() => {
  try {
    return Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'))
  } catch {
    return Number.NaN
  }
})()

// Gateways of a fleet connect at once after a restart. A connection beyond the queue is tried again by its client after 1, 3 and 7 s.
test.skipIf(!(queue >= CONNECTIONS))(
  'connections that arrive at once wait for a server that is busy',
  async () => {
    const app = fastify()
    const { port } = await listen(app, { host: '127.0.0.1', port: 0, tls: null, listensOnLoopback: false })
    const count = new Int32Array(new SharedArrayBuffer(4))
    const clients = new Worker(CLIENTS, { eval: true, workerData: { port, count, total: CONNECTIONS } })
    // The event loop stands still, so it accepts none of them. Those beyond the queue would never be established.
    for (let seen = 0; seen < CONNECTIONS; seen = count[0] ?? 0)
      if (Atomics.wait(count, 0, seen, 20_000) === 'timed-out') break
    expect(count[0]).toBe(CONNECTIONS)
    await clients.terminate()
    await app.close()
  },
)
