import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import {
  replyCut,
  replyDownload,
  replyHalf,
  replyJson,
  replyNever,
  replySse,
} from '../../support/recorder.ts'
import { waitFor } from '../../support/wait-for.ts'
import { testExchange } from '../pipeline/test-exchange.ts'
import { closeAll, outboundOf, recorder, send, targetOf, upstreamWith } from './upstream-world.ts'

afterEach(closeAll)

describe('back-pressure and ending', () => {
  it('stops reading upstream while the agent is slow', async () => {
    const total = 64 * 1024 * 1024
    const at = await recorder({ answer: replyDownload(total) })
    const exchange = testExchange()
    exchange.reply.isSlow = true
    const done = upstreamWith().forward(exchange, outboundOf(exchange, targetOf(at.port)))
    await waitFor(() => expect(exchange.reply.bytesOut).toBeGreaterThan(0))
    let before = -1
    await waitFor(
      () => {
        const now = exchange.reply.bytesOut
        const isStill = now === before
        before = now
        expect(isStill).toBe(true)
      },
      { interval: 50 },
    )
    expect(exchange.reply.bytesOut).toBeLessThan(total / 8)
    exchange.reply.drain()
    await done
    expect(exchange.reply.bytesOut).toBe(total)
  })

  it('reads the agent only as fast as upstream takes it', async () => {
    let produced = 0
    const block = Buffer.alloc(256 * 1024)
    const body = new Readable({
      read() {
        produced += block.length
        this.push(produced > 256 * 1024 * 1024 ? null : block)
      },
    })
    const at = await recorder({ answer: (request) => request.pause() })
    const exchange = testExchange({ method: 'POST', body })
    const done = upstreamWith().forward(exchange, outboundOf(exchange, targetOf(at.port)))
    let before = -1
    await waitFor(
      () => {
        const isStill = produced === before
        before = produced
        expect(isStill).toBe(true)
      },
      { interval: 100 },
    )
    expect(produced).toBeLessThan(64 * 1024 * 1024)
    exchange.abort.abort()
    await expect(done).rejects.toMatchObject({ name: 'AbortError' })
  })

  it.each([
    ['before the head', replyNever()],
    ['in the middle of a stream', replySse(10_000, 5)],
  ])('closes upstream when the agent leaves %s', async (_when, answer) => {
    const at = await recorder({ answer })
    const exchange = testExchange()
    const done = upstreamWith().forward(exchange, outboundOf(exchange, targetOf(at.port)))
    await at.received(1)
    if (answer !== undefined) await sleep(20)
    exchange.abort.abort()
    await done.catch((error: unknown) => expect(error).toMatchObject({ name: 'AbortError' }))
    await waitFor(() => expect(at.openConnections).toBe(0), { interval: 5 })
    expect(exchange.reply.state).toBe(exchange.reply.status === null ? 'open' : 'destroyed')
  })

  it('leaves nothing behind when the agent leaves while the connection is being made', async () => {
    let release: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const at = await recorder()
    const upstream = upstreamWith({
      resolve: async () => {
        await gate
        return [{ address: '127.0.0.1', family: 4 }]
      },
    })
    const exchange = testExchange({ method: 'POST', body: 'secret' })
    const done = upstream.forward(exchange, outboundOf(exchange, targetOf(at.port, { host: 'late.example' })))
    exchange.abort.abort()
    await expect(done).rejects.toMatchObject({ name: 'AbortError' })
    release()
    await waitFor(() => expect(at.connections).toBe(1))
    await waitFor(() => expect(at.openConnections).toBe(0))
    expect(at.seen).toEqual([])
  })

  it('cuts the answer when upstream breaks off, so that it cannot be taken for complete', async () => {
    const at = await recorder({ answer: replyHalf() })
    const exchange = await send(upstreamWith(), targetOf(at.port))
    expect(exchange.reply.status).toBe(200)
    expect(exchange.reply.state).toBe('destroyed')
    expect(exchange.outcome.errorType).toBe('connect')
  })

  it('sends a write once when upstream closes without an answer', async () => {
    const at = await recorder({ answer: replyCut() })
    const sending = send(upstreamWith(), targetOf(at.port), { method: 'POST', body: 'x' })
    await expect(sending).rejects.toMatchObject({
      code: 'upstream_failed',
      options: { extra: { error_type: 'connect' } },
    })
    await sleep(50)
    expect(at.seen.length).toBe(1)
  })

  it('dials again when the kept connection was closed before anything was written', async () => {
    const at = await recorder()
    const upstream = upstreamWith()
    await send(upstream, targetOf(at.port), { method: 'POST', body: '1' })
    at.answerWith((_request, response) => response.writeHead(200, { connection: 'close' }).end())
    await send(upstream, targetOf(at.port), { method: 'POST', body: '2' })
    const last = await send(upstream, targetOf(at.port), { method: 'POST', body: '3' })
    expect(last.reply.status).toBe(200)
    expect(at.seen.map((seen) => seen.body.toString())).toEqual(['1', '2', '3'])
  })

  it('gives up with 504 when nothing moves for the idle limit', async () => {
    const at = await recorder({ answer: replyNever() })
    const sending = send(upstreamWith({ idleTimeoutMs: 120 }), targetOf(at.port))
    await expect(sending).rejects.toMatchObject({ code: 'upstream_timeout' })
    await waitFor(() => expect(at.openConnections).toBe(0))
  })

  it.each([
    [401, '401'],
    [429, '429'],
    [503, '500'],
    [404, null],
  ])('names an upstream %i as error type %s', async (status, errorType) => {
    const at = await recorder({ answer: replyJson({}, status) })
    const exchange = await send(upstreamWith(), targetOf(at.port))
    expect(exchange.outcome).toMatchObject({ status, errorType })
  })
})
