import { once } from 'node:events'
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2'
import { afterEach, describe, expect, it } from 'vitest'
import type { Snapshot } from '../../../../core/snapshot/snapshot.ts'
import { setSnapshot } from '../../../../sidecar/pipeline/phases.ts'
import { snapshotOf } from '../../pipeline/test-world.ts'
import { type Handle, startFront, type TestFront, tlsTunnel } from '../harness.ts'

const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

async function start(handle: Handle): Promise<{ t: TestFront; session: ClientHttp2Session }> {
  const t = await startFront({ handle })
  const socket = await tlsTunnel(t.port, { ca: t.ca.caPem, host: 'a.example', alpn: ['h2'] })
  const session = connect('https://a.example', { createConnection: () => socket })
  session.on('error', () => session.destroy())
  open.push(t, { [Symbol.asyncDispose]: async () => session.destroy() })
  return { t, session }
}

const GRPC = {
  ':method': 'POST',
  ':path': '/a.B/C',
  'content-type': 'application/grpc+proto',
  te: 'trailers',
}

type Answer = { head: IncomingHttpHeaders; trailers: IncomingHttpHeaders; body: string; isHeadAll: boolean }

async function ask(
  session: ClientHttp2Session,
  fields: Record<string, string> = GRPC,
  onData: () => void = () => undefined,
): Promise<Answer> {
  const stream = session.request(fields, { endStream: true })
  const answer: Answer = { head: {}, trailers: {}, body: '', isHeadAll: false }
  stream.on('error', () => undefined)
  stream.on('trailers', (trailers) => Object.assign(answer.trailers, trailers))
  stream.on('data', (chunk) => {
    answer.body += chunk
    onData()
  })
  const [head, flags] = await once(stream, 'response')
  answer.head = head
  answer.isHeadAll = (flags & 1) !== 0
  if (!stream.closed) await once(stream, 'close')
  return answer
}

const BODY = JSON.stringify({ error: 'denied', message: 'No rule allows it: ask “ada” for 100%\nof it.' })

describe('a refusal of a gRPC call', () => {
  it.each([
    [400, '3'],
    [401, '16'],
    [403, '7'],
    [405, '12'],
    [407, '16'],
    [413, '8'],
    [421, '3'],
    [429, '8'],
    [431, '8'],
    [500, '13'],
    [502, '14'],
    [503, '14'],
    [504, '4'],
  ])(
    'with status %i is a head alone with gRPC status %s, and keeps the HTTP status',
    async (status, code) => {
      const { session } = await start(async ({ reply }) =>
        reply.send(
          status,
          ['Content-Type', 'application/json', 'X-Request-Id', 'req_1', 'Retry-After', '7'],
          BODY,
        ),
      )
      const { head, isHeadAll, body } = await ask(session)
      expect(head).toMatchObject({
        ...{ ':status': status, 'content-type': 'application/grpc', 'grpc-status': code },
        ...{ 'x-request-id': 'req_1', 'retry-after': '7' },
      })
      expect(head).not.toHaveProperty('content-length')
      expect({ isHeadAll, body }).toEqual({ isHeadAll: true, body: '' })
    },
  )

  it('says error and message in one line, percent-encoded where it must be and nowhere else', async () => {
    const { session } = await start(async ({ reply }) => reply.send(403, [], BODY))
    const { head } = await ask(session)
    expect(head['grpc-message']).toBe(
      'denied: No rule allows it: ask %E2%80%9Cada%E2%80%9D for 100%25%0Aof it.',
    )
  })

  it.each([
    ['{"error":"Kill switch active: x","message":"Kill switch active: x"}', 'Kill switch active: x'],
    ['{"error":"only this"}', 'only this'],
    ['plain text', 'plain text'],
    ['', ''],
  ])('says of %s: %s', async (body, message) => {
    const { session } = await start(async ({ reply }) => reply.send(403, [], body))
    expect((await ask(session)).head['grpc-message']).toBe(message)
  })

  it('keeps a long text within what clients take', async () => {
    const { session } = await start(async ({ reply }) =>
      reply.send(403, [], JSON.stringify({ message: 'x'.repeat(50_000) })),
    )
    expect(String((await ask(session)).head['grpc-message'])).toHaveLength(2_000)
  })

  it('is an ordinary one for anything else over HTTP/2', async () => {
    const { session } = await start(async ({ reply }) =>
      reply.send(403, ['Content-Type', 'application/json'], BODY),
    )
    const { head, body } = await ask(session, { ...GRPC, 'content-type': 'application/grpc-web+proto' })
    expect(head).toMatchObject({ ':status': 403, 'content-type': 'application/json' })
    expect(head).not.toHaveProperty('grpc-status')
    expect(body).toBe(BODY)
  })
})

it('has its trailers, and so its status, for a client that does not say that it reads them', async () => {
  const { session } = await start(async ({ reply }) => {
    const stream = reply.stream(200, ['content-type', 'application/grpc'], true)
    stream.write(Buffer.from('abc'))
    stream.end(['grpc-status', '0'])
  })
  const { te: _te, ...fields } = GRPC
  expect(await ask(session, fields)).toMatchObject({ body: 'abc', trailers: { 'grpc-status': '0' } })
})

describe('a gRPC response that is cut', () => {
  /** An answer that goes on until `cut` is called, and by whom it is cut. */
  async function startEndless(entry: unknown, snapshot?: Snapshot) {
    const state = { cut: () => {} }
    const { session } = await start(async (exchange) => {
      const { reply, abort } = exchange
      if (snapshot !== undefined) setSnapshot(exchange, snapshot)
      const stream = reply.stream(200, ['content-type', 'application/grpc'], true)
      state.cut = () => {
        if (entry !== null) abort.abort({ kind: 'kill', entry })
        stream.destroy()
      }
      stream.write(Buffer.from('abc'))
    })
    return { session, cut: () => state.cut() }
  }

  it('by the kill switch ends with PERMISSION_DENIED and its reason', async () => {
    const entry = { scope: 'all', source: 'api', reason: 'drill', since: '2026-01-01T00:00:00Z' }
    const { session, cut } = await startEndless(entry)
    expect(await ask(session, GRPC, cut)).toMatchObject({
      body: 'abc',
      trailers: { 'grpc-status': '7', 'grpc-message': 'Kill switch active: drill' },
    })
  })

  it('by the kill switch has no reason with refusalDetail: brief', async () => {
    const entry = { scope: 'all', source: 'api', reason: 'drill', since: '2026-01-01T00:00:00Z' }
    const { session, cut } = await startEndless(
      entry,
      snapshotOf({ gateway: { refusalDetail: 'brief' } }, 1, 1),
    )
    expect(await ask(session, GRPC, cut)).toMatchObject({
      trailers: { 'grpc-status': '7', 'grpc-message': 'The request was refused.' },
    })
  })

  it('by anything else ends with UNAVAILABLE', async () => {
    const { session, cut } = await startEndless(null)
    expect(await ask(session, GRPC, cut)).toMatchObject({ body: 'abc', trailers: { 'grpc-status': '14' } })
  })

  it('is reset when its client does not read', async () => {
    const { session } = await start(async ({ reply }) => {
      const stream = reply.stream(200, ['content-type', 'application/grpc'], true)
      stream.write(Buffer.alloc(1_000_000))
      stream.destroy()
    })
    const [error] = await once(session.request(GRPC, { endStream: true }), 'error')
    expect(String(error)).toContain('INTERNAL_ERROR')
  })
})
