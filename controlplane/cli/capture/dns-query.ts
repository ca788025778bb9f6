import type { Socket } from 'node:net'
import { sleep } from '../../../runtime/sleep.ts'

/**
 * Timeout in seconds of a DNS query of a captured command. The command's resolver uses the same timeout for one
 * attempt.
 */
export const QUERY_TIMEOUT_S = 10

const RETRY_MS = 100
const HEADER_BYTES = 12

/**
 * Forwards a DNS query to the gateway on a new stream. Retries while the gateway is unreachable or closes the stream,
 * because the gateway may be starting. Resolves with a SERVFAIL response after `timeoutMs`, and with an empty buffer
 * for a malformed query.
 */
export async function forwardQuery(dial: () => Socket, query: Buffer, timeoutMs: number): Promise<Buffer> {
  if (query.length < HEADER_BYTES) return Buffer.alloc(0)
  const signal = AbortSignal.timeout(timeoutMs)
  while (!signal.aborted) {
    const answer = await askOnce(dial(), query, signal)
    if (answer !== null) return answer
    await sleep(RETRY_MS, signal)
  }
  return serverFailure(query)
}

/** Sends the DNS query once and resolves with the response; null when the stream ended before a complete response. */
function askOnce(gateway: Socket, query: Buffer, signal: AbortSignal): Promise<Buffer | null> {
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0)
    let answer: Buffer | null = null
    const end = () => gateway.destroy()
    signal.addEventListener('abort', end, { once: true })
    gateway.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      if (bytes.length < 2 || bytes.length < 2 + bytes.readUInt16BE(0)) return
      answer = bytes.subarray(2, 2 + bytes.readUInt16BE(0))
      end()
    })
    gateway.on('error', end)
    gateway.on('end', end)
    gateway.on('close', () => {
      signal.removeEventListener('abort', end)
      resolve(answer)
    })
    const head = Buffer.alloc(2)
    head.writeUInt16BE(query.length)
    gateway.write(Buffer.concat([head, query]))
  })
}

/** Turns a DNS query into a SERVFAIL response (RCODE 2, RFC 1035, 4.1.1). */
function serverFailure(query: Buffer): Buffer {
  const reply = Buffer.from(query)
  reply.writeUInt8(reply.readUInt8(2) | 0x80, 2)
  reply.writeUInt8((reply.readUInt8(3) & 0xf0) | 2, 3)
  return reply
}
