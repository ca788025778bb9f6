import type { TLSSocket } from 'node:tls'
import { cpuUs, rssMib } from '../../support/processes.ts'
import { openTunnel, type Target } from '../../support/tunnel.ts'
import type { Bench } from '../main.ts'
import { eachSubject } from '../support/each.ts'
import { absolute, compare } from '../support/report.ts'

/** A host without a connector type of its own: a body of a model provider that cannot be read is refused. */
const HOST = 'files.bench.test'
const MIB = Buffer.alloc(1024 * 1024, 0x61)

/** 1, 10 and 100 MiB down and up: CPU per MiB, and memory that does not follow the size. */
export const bodies: Bench = async (context) => {
  const down = new Map<string, number>()
  const up = new Map<string, number>()
  let growth = Number.NaN
  const large = context.isQuick ? 32 : 100
  await eachSubject(
    context,
    async (subject) => {
      await download(subject.target, 1)
      await upload(subject.target, 1)
      const small = rssMib(subject.pid).peak
      down.set(subject.name, await perMib(subject.pid, large, () => download(subject.target, large)))
      up.set(subject.name, await perMib(subject.pid, large, () => upload(subject.target, large)))
      if (subject.name === 'chaperone') growth = rssMib(subject.pid).peak - small
    },
    ['chaperone', '@fastify/http-proxy', 'http-mitm-proxy', 'haproxy'],
  )
  return [
    ...compare('B5', 'download ms CPU/MiB', down, { haproxy: 1.7 }),
    ...compare('B5', 'upload ms CPU/MiB', up, { haproxy: 1.7 }),
    absolute('B5', `RSS growth MiB from 1 to ${large} MiB`, growth, 32),
  ]
}

async function perMib(pid: number, mib: number, work: () => Promise<void>): Promise<number> {
  const before = cpuUs(pid)
  await work()
  return (cpuUs(pid) - before) / mib / 1_000
}

async function download(target: Target, mib: number): Promise<void> {
  const socket = await openTunnel(target, HOST)
  socket.write(`GET /v1/download?mib=${mib} HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
  let bytes = 0
  await new Promise<void>((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes >= mib * MIB.length) resolve()
    })
    socket.once('error', reject)
    socket.once('close', () => reject(new Error(`download ended after ${bytes} bytes`)))
  })
  socket.destroy()
}

async function upload(target: Target, mib: number): Promise<void> {
  const socket: TLSSocket = await openTunnel(target, HOST)
  const answered = new Promise<void>((resolve, reject) => {
    socket.once('data', (chunk: Buffer) => {
      if (chunk.toString('latin1', 9, 12) === '200') resolve()
      else reject(new Error(`upload was answered ${chunk.toString('latin1', 0, 200)}`))
    })
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('closed during the upload')))
  })
  socket.write(
    `POST /v1/upload HTTP/1.1\r\nHost: ${HOST}\r\nContent-Type: application/octet-stream\r\nContent-Length: ${mib * MIB.length}\r\n\r\n`,
  )
  for (let sent = 0; sent < mib; sent += 1) {
    if (!socket.write(MIB))
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), answered])
  }
  await answered
  socket.destroy()
}
