import { constants } from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { describe, expect, it } from 'vitest'
import type { Exchange } from '../../../../sidecar/pipeline/exchange.ts'
import { frame, headersFrame, type RawSession, speakHttp2, TYPE } from '../../../support/raw-http2.ts'
import { startFront, type TestFront, tlsTunnel, until } from '../harness.ts'

const GOOD = [
  [':method', 'GET'],
  [':path', '/'],
  [':scheme', 'https'],
  [':authority', 'a.example'],
] as const
const BAD = [...GOOD, ['X-Upper', 'case']] as const

const open = (t: TestFront): Promise<TLSSocket> =>
  tlsTunnel(t.port, { ca: t.ca.caPem, host: 'a.example', alpn: ['h2'] })

/** What arrived that was no good request. */
const rejected = (t: TestFront): Exchange[] => t.exchanges.filter(({ malformed }) => malformed !== undefined)
const details = (t: TestFront): string[] => rejected(t).map(({ malformed }) => malformed?.detail ?? '')

async function talk(socket: TLSSocket, frames: readonly Buffer[], isEnough: (s: RawSession) => boolean) {
  const session = await speakHttp2(socket, frames, isEnough)
  socket.end()
  return session
}

const settled = (id: number) => (session: RawSession) => {
  const stream = session.streams.get(id)
  return stream !== undefined && (stream.isEnded || stream.reset !== null)
}

describe('a stream that the HTTP/2 library resets by itself', () => {
  it('leaves one exchange with a reason when the connection ends behind it', async () => {
    await using t = await startFront()
    const session = await talk(await open(t), [headersFrame(1, BAD)], settled(1))
    expect(session.streams.get(1)?.reset).toBe(constants.NGHTTP2_PROTOCOL_ERROR)
    await until(
      () => rejected(t).length > 0,
      () => 'the exchange',
    )
    expect(details(t)).toEqual([expect.stringContaining('stream 1 of the HTTP/2 connection was reset')])
    expect(rejected(t)[0]).toMatchObject({
      ...{ kind: 'http', transport: 'connect-h2', malformed: { code: 'malformed_request' } },
      raw: {
        method: 'PRI',
        httpVersion: '2',
        sources: { connectAuthority: 'a.example:443', sni: 'a.example' },
      },
    })
  })

  it('leaves one each, between good ones too, which are served', async () => {
    await using t = await startFront()
    const frames = [1, 3, 5, 7, 9, 11].map((id) => headersFrame(id, id === 1 || id === 7 ? GOOD : BAD))
    const session = await talk(await open(t), frames, (s) => settled(7)(s) && settled(11)(s))
    expect(session.streams.get(1)?.status).toBe(200)
    expect(session.streams.get(7)?.status).toBe(200)
    await until(
      () => rejected(t).length === 4,
      () => `4 exchanges, not ${rejected(t).length}`,
    )
    expect(details(t).map((detail) => /stream (\d+)/.exec(detail)?.[1])).toEqual(['3', '5', '9', '11'])
    expect(t.exchanges).toHaveLength(6)
  })

  it('leaves one exchange when the client disconnects abruptly', async () => {
    await using t = await startFront()
    const socket = await open(t)
    await speakHttp2(socket, [headersFrame(1, BAD)], settled(1))
    socket.destroy()
    await until(
      () => rejected(t).length > 0,
      () => 'the exchange',
    )
    expect(t.exchanges).toHaveLength(1)
  })

  it('leaves at most a hundred exchanges of one connection', async () => {
    await using t = await startFront()
    const session = await talk(
      await open(t),
      [headersFrame(1, GOOD), headersFrame(1_000_001, GOOD)],
      settled(1_000_001),
    )
    expect(session.streams.get(1_000_001)?.status).toBe(200)
    await until(
      () => t.front.connections === 0,
      () => 'the end of the connection',
    )
    expect(rejected(t)).toHaveLength(100)
  })
})

describe('an HTTP/2 connection that breaks the protocol', () => {
  it.each([
    ['compresses headers wrongly', frame(TYPE.headers, 5, 1, Buffer.alloc(6, 0xff))],
    ['sends a window of nothing', frame(TYPE.window, 0, 0, Buffer.alloc(4))],
    ['sends data on a stream that was never opened', frame(TYPE.data, 0, 5, Buffer.from('x'))],
  ])('leaves one exchange when it %s', async (_what, bytes) => {
    await using t = await startFront()
    const session = await talk(await open(t), [bytes], ({ goaway, isClosed }) => goaway !== null || isClosed)
    expect(session.goaway ?? 0).toBeGreaterThan(0)
    await until(
      () => t.front.connections === 0,
      () => 'the end of the connection',
    )
    expect(details(t)).toEqual([expect.stringContaining('the client violated the protocol')])
  })

  it('leaves the exchange of its request alone when that is what broke it', async () => {
    await using t = await startFront()
    const declared = [...GOOD, ['content-length', '1']] as const
    const frames = [
      headersFrame(1, declared, { isEnd: false }),
      frame(TYPE.data, 1, 1, Buffer.from('more than that')),
    ]
    await talk(await open(t), frames, ({ goaway, isClosed }) => goaway !== null || isClosed)
    await until(
      () => t.front.connections === 0,
      () => 'the end of the connection',
    )
    expect(t.exchanges).toHaveLength(1)
    expect(rejected(t)).toEqual([])
  })
})

it('a connection with valid requests only reports no rejected stream, with or without GOAWAY', async () => {
  await using t = await startFront()
  for (const goodbye of [true, false]) {
    const socket = await open(t)
    await speakHttp2(socket, [headersFrame(1, GOOD), headersFrame(3, GOOD)], settled(3))
    if (goodbye) socket.end(frame(TYPE.goaway, 0, 0, Buffer.alloc(8)))
    else socket.destroy()
  }
  await until(
    () => t.front.connections === 0,
    () => 'the end of the connections',
  )
  expect(t.exchanges).toHaveLength(4)
})
