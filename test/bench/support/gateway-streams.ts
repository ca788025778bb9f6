import type { Socket } from 'node:net'
import { openSocket } from '../../support/tunnel.ts'

/**
 * Simulates N gateway processes that only receive and acknowledge messages. Environment: PORT, TOKEN, STREAMS. The
 * process sends `ready` when every stream received the kill state, and `gone` when a stream is cut. It answers the
 * message `{type: 'expect', stopped}` with `{type: 'heard', at}`. `at` has the time at which each stream received
 * an active (or no) kill switch, in nanoseconds of the monotonic clock, which all processes of a machine share.
 */
const PORT = Number(process.env['PORT'])
const TOKEN = process.env['TOKEN'] ?? ''
const STREAMS = Number(process.env['STREAMS'])
const CONNECTIONS = 16

type Expectation = { readonly isStopped: boolean; readonly at: Map<number, bigint> }
let expected: Expectation | null = null
const unacknowledged = new Map<number, number>()

process.on('message', (message: { readonly type: string; readonly stopped: boolean }) => {
  if (message.type === 'expect') expected = { isStopped: message.stopped, at: new Map() }
})
process.on('disconnect', () => process.exit(0))

const acks = await Promise.all(Array.from({ length: CONNECTIONS }, () => openSocket(PORT)))
for (const socket of acks) socket.resume()
for (let from = 0; from < STREAMS; from += 50) {
  await Promise.all(Array.from({ length: Math.min(50, STREAMS - from) }, (_, i) => listenTo(from + i)))
}
process.send?.({ type: 'ready', port: 0 })

/** Opens a stream. Resolves with the first kill state. */
async function listenTo(index: number): Promise<void> {
  const socket = await openSocket(PORT)
  socket.write(
    `GET /api/gateway/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${TOKEN}\r\nX-Process-Id: proc_bench_${index}\r\n\r\n`,
  )
  socket.on('close', () => process.send?.({ type: 'gone', index }))
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    readKills(socket, (seq, isStopped) => {
      hear(index, isStopped)
      acknowledgeSoon(index, seq)
      resolve()
    })
  })
}

/** The lines of the stream are whole in its chunks or not: a line ends with a new line, chunk sizes are no JSON. */
function readKills(socket: Socket, onKill: (seq: number, isStopped: boolean) => void): void {
  let rest = ''
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const seq = /^\{"type":"kill","seq":(\d+),/.exec(line)?.[1]
      if (seq !== undefined) onKill(Number(seq), !line.includes('"effective":[]'))
    }
  })
}

function hear(index: number, isStopped: boolean): void {
  if (expected === null || expected.isStopped !== isStopped || expected.at.has(index)) return
  expected.at.set(index, process.hrtime.bigint())
  if (expected.at.size < STREAMS) return
  process.send?.({ type: 'heard', at: [...expected.at.values()].map(String) })
  expected = null
}

/**
 * Acknowledges when all streams have received the message, or 100 ms after the first. Real gateways run on separate
 * machines, but these share one process, so an acknowledgement must not delay the other streams.
 */
function acknowledgeSoon(index: number, seq: number): void {
  if (unacknowledged.size === 0) setTimeout(acknowledgeAll, 100)
  unacknowledged.set(index, seq)
  if (unacknowledged.size === STREAMS) acknowledgeAll()
}

function acknowledgeAll(): void {
  for (const [index, seq] of unacknowledged) acknowledge(index, seq)
  unacknowledged.clear()
}

/** As a gateway does it: a POST of its own. Answers are not waited for. */
function acknowledge(index: number, seq: number): void {
  const body = JSON.stringify({ kill_seq: seq, applied_at: new Date().toISOString() })
  acks[index % CONNECTIONS]?.write(
    `POST /api/gateway/ack HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${TOKEN}\r\nX-Process-Id: proc_bench_${index}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
}
