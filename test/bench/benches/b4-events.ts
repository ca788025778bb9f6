import { readFileSync } from 'node:fs'
import type { TLSSocket } from 'node:tls'
import { cpuUs } from '../../support/processes.ts'
import { openTunnel, type Target } from '../../support/tunnel.ts'
import type { Bench, BenchContext } from '../main.ts'
import { eachSubject } from '../support/each.ts'
import { quantile } from '../support/load.ts'
import { absolute, compare } from '../support/report.ts'

/**
 * 200 streams x 200 events, one every 50 ms: none lost, none merged, none late. The first round includes the 200 tunnels and
 * the compilers at work on a process that has just started; a second round shows what an event costs later.
 */
export const events: Bench = async (context) => {
  const streams = context.isQuick ? 50 : 200
  const perStream = context.isQuick ? 50 : 200
  const cpu = new Map<string, number>()
  const later = new Map<string, number>()
  const rows: ReturnType<typeof absolute>[] = []
  const direct = await directDelays(context, { streams, perStream })
  await eachSubject(
    context,
    async (subject) => {
      const readAll = () =>
        Promise.all(Array.from({ length: streams }, () => readStream(subject.target, perStream)))
      const before = cpuUs(subject.pid)
      const seen = await readAll()
      const between = cpuUs(subject.pid)
      cpu.set(subject.name, (between - before) / (streams * perStream))
      await readAll()
      later.set(subject.name, (cpuUs(subject.pid) - between) / (streams * perStream))
      if (subject.name !== 'chaperone') return
      const delays = seen.flatMap((stream) => stream.delaysMs).sort((a, b) => a - b)
      rows.push(absolute('B4', 'events lost', streams * perStream - delays.length, null))
      rows.push(
        absolute('B4', 'reads with more than one event', sum(seen.map((stream) => stream.merged)), null),
      )
      rows.push(
        absolute('B4', 'delay p99 ms, that of client and upstream included', quantile(delays, 0.99), null),
      )
      rows.push(
        absolute('B4', 'delay p99 ms of the same streams without a proxy', quantile(direct, 0.99), null),
      )
      rows.push(absolute('B4', 'added delay p50 ms', quantile(delays, 0.5) - quantile(direct, 0.5), null))
      rows.push(absolute('B4', 'added delay p99 ms', quantile(delays, 0.99) - quantile(direct, 0.99), 10))
    },
    ['chaperone', '@fastify/http-proxy', 'http-mitm-proxy', 'mockttp', 'haproxy'],
  )
  return [
    ...compare('B4', 'CPU us/event', cpu, { haproxy: 2 }),
    ...compare('B4', 'the same, after the first round', later),
    ...rows,
  ]
}

/** The bench reads 200 streams in one process: how late that alone makes an event. */
async function directDelays(
  { bed }: BenchContext,
  { streams, perStream }: { readonly streams: number; readonly perStream: number },
): Promise<number[]> {
  const direct: Target = { port: bed.upstreamPort, via: 'reverse', ca: readFileSync(bed.caFile, 'utf8') }
  const seen = await Promise.all(Array.from({ length: streams }, () => readStream(direct, perStream)))
  return seen.flatMap((stream) => stream.delaysMs).sort((a, b) => a - b)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, n) => total + n, 0)
}

async function readStream(target: Target, count: number): Promise<{ delaysMs: number[]; merged: number }> {
  const socket: TLSSocket = await openTunnel(target, 'api.openai.com')
  socket.write(
    `GET /v1/sse?events=${count}&every=50 HTTP/1.1\r\nHost: api.openai.com\r\nAccept: text/event-stream\r\n\r\n`,
  )
  const delaysMs: number[] = []
  let merged = 0
  return new Promise((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => {
      const times = [...chunk.toString('latin1').matchAll(/data: (\d+)/g)].map((match) =>
        BigInt(match[1] ?? 0),
      )
      if (times.length > 1) merged += 1
      for (const sentAt of times) delaysMs.push(Number(process.hrtime.bigint() - sentAt) / 1e6)
      if (delaysMs.length < count) return
      socket.destroy()
      resolve({ delaysMs, merged })
    })
    socket.once('error', reject)
    socket.once('close', () => reject(new Error(`stream ended after ${delaysMs.length} of ${count} events`)))
  })
}
