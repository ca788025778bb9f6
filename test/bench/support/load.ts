import { setTimeout as sleep } from 'node:timers/promises'
import type tls from 'node:tls'
import { openTunnel, type Target } from '../../support/tunnel.ts'

const BODY = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(4_040) }] })

/** POST of 4 KiB chat JSON, as bytes. */
export const CHAT_REQUEST = Buffer.from(
  `POST /v1/chat/completions HTTP/1.1\r\nHost: api.openai.com\r\nAuthorization: Bearer placeholder\r\n` +
    `Content-Type: application/json\r\nUser-Agent: bench\r\nAccept: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`,
)

/** One request after the other on one connection. Resolves with the latency in ms; rejects on any answer but 200. */
export function createRequester(socket: tls.TLSSocket): () => Promise<number> {
  let pending: { resolve: (ms: number) => void; reject: (error: Error) => void; startedAt: number } | null =
    null
  let buffered: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    buffered = buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk])
    const end = endOfAnswer(buffered)
    if (end === -1 || pending === null) return
    const { resolve, reject, startedAt } = pending
    pending = null
    const isOk = buffered.subarray(9, 12).toString() === '200'
    const head = buffered.subarray(0, 300).toString('latin1')
    buffered = buffered.subarray(end)
    if (isOk) resolve(performance.now() - startedAt)
    else reject(new Error(`not 200: ${head}`))
  })
  socket.on('close', () => pending?.reject(new Error('connection closed')))
  return () =>
    new Promise((resolve, reject) => {
      if (socket.destroyed) return reject(new Error('connection closed'))
      pending = { resolve, reject, startedAt: performance.now() }
      socket.write(CHAT_REQUEST)
    })
}

/** Index after the answer, by Content-Length or the last chunk; -1 while incomplete. */
function endOfAnswer(bytes: Buffer): number {
  const head = bytes.indexOf('\r\n\r\n')
  if (head === -1) return -1
  const fields = bytes.subarray(0, head).toString('latin1').toLowerCase()
  const length = /content-length: *(\d+)/.exec(fields)?.[1]
  if (length !== undefined) return bytes.length >= head + 4 + Number(length) ? head + 4 + Number(length) : -1
  const last = bytes.indexOf('\r\n0\r\n\r\n', head)
  return last === -1 ? -1 : last + 7
}

/** `tunnels` connections in closed loop until `requests` were answered. */
export async function closedLoop(target: Target, tunnels: number, requests: number): Promise<void> {
  const sockets = await Promise.all(
    Array.from({ length: tunnels }, () => openTunnel(target, 'api.openai.com')),
  )
  let left = requests
  await Promise.all(
    sockets.map(async (socket) => {
      const request = createRequester(socket)
      while (left > 0) {
        left -= 1
        await request()
      }
      socket.destroy()
    }),
  )
}

/**
 * Open loop: requests fall due at `rate` a second whether or not earlier ones were answered. Latencies in ms, sorted,
 * from the tick at which a request fell due, so that waiting for a free connection counts. Ticks are 1 ms apart: a loop
 * that spins would take one of the cores that are measured.
 */
export async function openLoop(target: Target, rate: number, seconds: number): Promise<number[]> {
  const sockets = await Promise.all(Array.from({ length: 64 }, () => openTunnel(target, 'api.openai.com')))
  const free = sockets.map(createRequester)
  const latencies: number[] = []
  const running: Promise<void>[] = []
  const waiting: number[] = []
  const startedAt = performance.now()
  const total = rate * seconds
  for (let due = 0; due < total || waiting.length > 0; ) {
    const now = performance.now()
    for (; due < Math.min(total, ((now - startedAt) / 1_000) * rate); due += 1) waiting.push(now)
    while (waiting.length > 0 && free.length > 0) running.push(sendOne(waiting, free, latencies))
    await sleep(1)
  }
  await Promise.all(running)
  for (const socket of sockets) socket.destroy()
  return latencies.sort((a, b) => a - b)
}

async function sendOne(
  waiting: number[],
  free: Array<() => Promise<number>>,
  latencies: number[],
): Promise<void> {
  const dueAt = waiting.shift() ?? performance.now()
  // Longest idle first: an upstream closes a connection that is idle for 5 s.
  const request = free.shift()
  if (request === undefined) throw new Error('no connection is free')
  await request()
  latencies.push(performance.now() - dueAt)
  free.push(request)
}

export function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}
