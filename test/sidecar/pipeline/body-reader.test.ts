import { Readable } from 'node:stream'
import { describe, expect, test, vi } from 'vitest'
import { type BodyReader, createBodyReader } from '../../../sidecar/pipeline/body/body-reader.ts'
import type { Exchange } from '../../../sidecar/pipeline/exchange.ts'
import { testExchange } from './test-exchange.ts'

const KIB = 1024
const LIMIT = 64 * 1024 * KIB

function start(totalBytes: number, waitMs = 60_000) {
  const reader = createBodyReader({ pacer: { turnForBody: () => null }, totalBytes, waitMs })
  return { reader, read: (exchange: Exchange) => watch(reader, exchange) }
}

/** A request with a body of so many KiB. */
function request(agent: string, kib: number, length: number | null = kib * KIB): Exchange {
  const exchange = testExchange({ method: 'POST', body: Buffer.alloc(kib * KIB) })
  const body = length === null ? { isChunked: true } : { isChunked: false, length }
  return Object.assign(exchange, { agent: { name: agent }, request: { body } }) as unknown as Exchange
}

type Watched = {
  state: 'waits' | 'read' | 'too long' | 'refused'
  error: unknown
  readonly done: Promise<void>
}

function watch(reader: BodyReader, exchange: Exchange): Watched {
  const watched: Watched = {
    state: 'waits',
    error: null,
    done: reader.read(exchange, LIMIT).then(
      (bytes) => {
        watched.state = bytes === null ? 'too long' : 'read'
      },
      (error: unknown) => {
        watched.state = 'refused'
        watched.error = error
      },
    ),
  }
  return watched
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('the budget of the process', () => {
  test('is shared: what finds it full waits until there is room, and is then read', async () => {
    const { reader, read } = start(1024 * KIB)
    const first = request('a', 500)
    const others = [request('b', 500), request('c', 500)]
    await read(first).done
    const [second, third] = others.map(read)
    await settle()
    expect([second?.state, third?.state]).toEqual(['read', 'waits'])
    reader.release(first)
    await third?.done
    expect(third?.state).toBe('read')
  })

  test('refuses a request that waited too long with 503 and Retry-After', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const { reader, read } = start(1024 * KIB, 10_000)
      const first = request('a', 1000)
      await read(first).done
      const second = read(request('b', 1000))
      await vi.advanceTimersByTimeAsync(9_999)
      expect(second.state).toBe('waits')
      await vi.advanceTimersByTimeAsync(1)
      await second.done
      expect(second.error).toMatchObject({ code: 'overloaded', status: 503, options: { retryAfterS: 5 } })
      expect(String(second.error)).toMatch(/1 MiB \(1048576 bytes\).*10 s.*BODY_BUDGET_BYTES/)
      reader.release(first)
      const third = read(request('c', 1000))
      await third.done
      expect(third.state).toBe('read')
    } finally {
      vi.useRealTimers()
    }
  })

  test('releases the waiting reservations of an agent that disconnected', async () => {
    const { reader, read } = start(1024 * KIB)
    const first = request('a', 1000)
    await read(first).done
    const left = request('b', 1000)
    const waiting = read(left)
    const next = read(request('c', 900))
    left.abort.abort(new Error('the client left'))
    await waiting.done
    expect(waiting.error).toMatchObject({ message: 'the client left' })
    reader.release(first)
    await next.done
    reader.release(left)
    expect(next.state).toBe('read')
    const more = read(request('d', 200))
    await settle()
    expect(more.state).toBe('waits')
  })

  test('leaves its last quarter to agents that have nothing in it', async () => {
    const { read } = start(1024 * KIB)
    const own = [request('a', 400), request('a', 400)].map(read)
    const other = read(request('b', 500))
    await settle()
    expect(own.map(({ state }) => state)).toEqual(['read', 'waits'])
    expect(other.state).toBe('read')
  })

  test('serves the agent that uses least first, in order of arrival', async () => {
    const { reader, read } = start(1024 * KIB)
    const large = request('a', 700)
    await read(large).done
    const small = request('b', 200)
    await read(small).done
    const waiting = [request('b', 300), request('a', 300), request('c', 300), request('d', 300)].map(read)
    await settle()
    reader.release(large)
    await settle()
    expect(waiting.map(({ state }) => state)).toEqual(['waits', 'read', 'read', 'waits'])
  })

  test('reserves the whole limit for a body without a length until it is complete', async () => {
    const { read } = start(2 * LIMIT)
    const exchanges = [request('a', 100, null), request('b', 100, null), request('c', 100, null)]
    const done = exchanges.map(read)
    await Promise.all(done.map((one) => one.done))
    expect(exchanges.map(({ reservedBytes }) => reservedBytes)).toEqual([100, 100, 100].map((n) => n * KIB))
  })

  test('is not taken by a body without a length before it is longer than 64 KiB', async () => {
    const { read } = start(1024 * KIB)
    const large = read(request('a', 1000))
    await large.done
    const small = request('b', 0, null)
    const pieces = [Buffer.alloc(30 * KIB), Buffer.alloc(30 * KIB)]
    const body = testExchange({ method: 'POST', body: Readable.from(pieces) }).body
    const watched = read(Object.assign(small, { body }))
    await watched.done
    expect([watched.state, small.bodyBytes?.length]).toEqual(['read', 60 * KIB])
  })

  test('refuses at once what it can never hold, with both limits named', async () => {
    const { reader, read } = start(1024 * KIB)
    for (const length of [2048 * KIB, null]) {
      const exchange = request('a', 2048, length)
      const one = read(exchange)
      await one.done
      reader.release(exchange)
      expect(one.error).toMatchObject({ code: 'body_too_large' })
      expect(String(one.error)).toMatch(/1 MiB \(1048576 bytes\).*BODY_BUDGET_BYTES/)
    }
    const next = read(request('a', 900))
    await next.done
    expect(next.state).toBe('read')
  })

  test('is not taken by bodies of at most 64 KiB, nor by those beyond the limit', async () => {
    const { read } = start(100 * KIB)
    const small = Array.from({ length: 10 }, () => request('a', 64))
    await Promise.all(small.map((one) => read(one).done))
    expect(small.map(({ reservedBytes }) => reservedBytes ?? 0)).toEqual(small.map(() => 0))
    const long = request('a', 65 * 1024)
    const watched = read(long)
    await watched.done
    expect([watched.state, long.reservedBytes ?? 0]).toEqual(['too long', 0])
  })

  test('is released completely, however often a body is read and released', async () => {
    const { reader, read } = start(1024 * KIB)
    for (let round = 0; round < 50; round++) {
      const exchanges = Array.from({ length: 8 }, (_, n) =>
        request(`agent-${n % 3}`, 100 + round * n, n % 2 ? undefined : null),
      )
      const done = exchanges.map(async (exchange, n) => {
        await read(exchange).done
        if (n % 2) await read(exchange).done
        reader.release(exchange)
        reader.release(exchange)
      })
      await Promise.all(done)
    }
    const all = read(request('a', 1024))
    await all.done
    expect(all.state).toBe('read')
  })
})
