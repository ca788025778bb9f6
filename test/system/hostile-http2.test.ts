import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { allowAll, type Everything, startEverything } from '../support/every-connector.ts'
import { leaveMark, newestRecords, recordsBetween } from '../support/gateway-records.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { FLAG, frame, headersFrame, type RawSession, speakHttp2, TYPE } from '../support/raw-http2.ts'
import type { Seen } from '../support/recorder.ts'

const HOST = 'api.github.com'
let everything: Everything
let laptop: Laptop
let agent: TestAgent

beforeAll(async () => {
  everything = await startEverything({
    rules: { '*': [...allowAll(), ['codehost', 'codehost.repo.delete', 'deny']] },
  })
  laptop = await startLaptop({
    database: 'worker',
    manifests: { 'everything.yaml': everything.manifests },
    env: { WHOLE_REFUSALS_PER_MINUTE: '100000' },
  })
  agent = testAgent(laptop)
})
afterAll(async () => {
  await laptop?.stop()
  await everything?.recorder.close()
})

type Pairs = ReadonlyArray<readonly [string, string]>

function head(change: Readonly<Record<string, string | null>> = {}, more: Pairs = []): Pairs {
  const base: Record<string, string | null> = {
    ':method': 'GET',
    ':scheme': 'https',
    ':authority': HOST,
    ':path': '/user',
    ...change,
  }
  const pseudo = Object.entries(base).flatMap(([name, value]) =>
    value === null ? [] : [[name, value] as const],
  )
  return [...pseudo, ...more]
}

const hasSettled = ({ streams }: RawSession) => {
  const first = streams.get(1)
  return first !== undefined && (first.isEnded || first.reset !== null)
}

async function talk(frames: readonly Buffer[], isEnough = hasSettled): Promise<RawSession> {
  const socket = await agent.tunnel(HOST, ['h2'])
  try {
    return await speakHttp2(socket, frames, isEnough)
  } finally {
    socket.destroy()
  }
}

/** An answer with this status, or a stream (or session) that is reset. */
type Verdict = number | 'reset'

const HEADS: ReadonlyArray<readonly [name: string, pairs: Pairs, says: Verdict]> = [
  ['connection', head({}, [['connection', 'close']]), 'reset'],
  ['transfer-encoding', head({}, [['transfer-encoding', 'chunked']]), 'reset'],
  ['keep-alive', head({}, [['keep-alive', 'x']]), 'reset'],
  ['upgrade', head({}, [['upgrade', 'websocket']]), 'reset'],
  ['proxy-connection', head({}, [['proxy-connection', 'close']]), 'reset'],
  ['te other than trailers', head({}, [['te', 'gzip']]), 'reset'],
  ['an upper-case name', head({}, [['X-Upper', 'a']]), 'reset'],
  ['a name with a space', head({}, [['a b', 'x']]), 400],
  ['a name with a colon', head({}, [['a:b', 'x']]), 400],
  ['an empty name', head({}, [['', 'x']]), 400],
  ['CR LF in a value', head({}, [['x', 'a\r\nauthorization: own']]), 400],
  ['LF in a value', head({}, [['x', 'a\nb']]), 400],
  ['NUL in a value', head({}, [['x', 'a\0b']]), 400],
  ['CR LF in the path', head({ ':path': '/user HTTP/1.1\r\nx: y' }), 'reset'],
  ['a space in the path', head({ ':path': '/us er' }), 'reset'],
  ['a byte above ASCII in the path', head({ ':path': '/us\xe9r' }), 400],
  ['an absolute path', head({ ':path': `https://${HOST}/user` }), 'reset'],
  ['an empty path', head({ ':path': '' }), 'reset'],
  ['no path', head({ ':path': null }), 'reset'],
  ['a fragment', head({ ':path': '/user#x' }), 400],
  ['dot segments', head({ ':path': '/repos/../user' }), 400],
  ['//evil', head({ ':path': '//evil.example/user' }), 400],
  ['a scheme of http', head({ ':scheme': 'http' }), 400],
  ['no scheme', head({ ':scheme': null }), 'reset'],
  ['a second path', head({}, [[':path', '/repos/o/r']]), 'reset'],
  ['a second method', [[':method', 'DELETE'], ...head()], 'reset'],
  ['a pseudo field behind the others', [['x', 'y'], ...head()], 'reset'],
  ['an unknown pseudo field', head({ ':unknown': 'x' }), 'reset'],
  [':status in a request', head({ ':status': '200' }), 'reset'],
  [':protocol without extended CONNECT', head({ ':method': 'CONNECT', ':protocol': 'websocket' }), 'reset'],
  ['a method with a space', head({ ':method': 'GET /x' }), 'reset'],
  ['a lower-case method', head({ ':method': 'get' }), 400],
  ['TRACE', head({ ':method': 'TRACE' }), 405],
  ['another authority', head({ ':authority': 'api.stripe.com' }), 421],
  ['another port', head({ ':authority': `${HOST}:8443` }), 421],
  ['user information in the authority', head({ ':authority': `u@${HOST}` }), 'reset'],
  ['another host beside the authority', head({}, [['host', 'api.stripe.com']]), 421],
  ['another host without an authority', head({ ':authority': null }, [['host', 'api.stripe.com']]), 421],
  [
    'two hosts',
    head({}, [
      ['host', HOST],
      ['host', HOST],
    ]),
    'reset',
  ],
  ['a method override', head({}, [['x-http-method-override', 'DELETE']]), 400],
  [
    'two content-lengths',
    head({ ':method': 'POST' }, [
      ['content-length', '0'],
      ['content-length', '2'],
    ]),
    'reset',
  ],
  ['a content-length that is no number', head({ ':method': 'POST' }, [['content-length', '+2']]), 'reset'],
  ['a content-length without a body', head({ ':method': 'POST' }, [['content-length', '5']]), 'reset'],
  [
    'headers of 17 KiB',
    head({}, [
      ['x', 'x'.repeat(15_000)],
      ['y', 'y'.repeat(1_300)],
      ['z', 'z'.repeat(100)],
    ]),
    431,
  ],
]

test('a sound head passes, so that the refusals below mean something', async () => {
  const before = everything.recorder.seen.length
  const session = await talk([headersFrame(1, head())])
  expect(session.streams.get(1)).toMatchObject({ status: 200 })
  expect(everything.recorder.seen.length).toBe(before + 1)
})

async function tryHead(
  pairs: Pairs,
): Promise<{ found: string | number; mark: string; seen: readonly Seen[] }> {
  const mark = await leaveMark(laptop)
  const from = everything.recorder.seen.length
  const { streams, goaway, isClosed } = await talk(
    [headersFrame(1, pairs)],
    (session) => hasSettled(session) || session.goaway !== null,
  )
  const stream = streams.get(1)
  const isReset = (stream?.reset ?? 0) > 0 || (goaway ?? 0) > 0 || isClosed
  // What the library resets by itself leaves a record of the connection, once that is closed.
  await eventually('a record', async () => ((await newestRecords(laptop, 1))[0]?.host === mark ? null : true))
  return {
    found: stream?.status ?? (isReset ? 'reset' : 'nothing'),
    mark,
    seen: everything.recorder.seen.slice(from),
  }
}

test('heads that HTTP/2 forbids, or that say two things, are answered or reset, and nothing of them reaches the upstream', async () => {
  const faults: string[] = []
  const marks: string[] = []
  for (const [name, pairs, says] of HEADS) {
    const { found, mark, seen } = await tryHead(pairs)
    marks.push(mark)
    // What the protocol lets one reset may as well be answered, as long as it is refused.
    const isFine = found === says || (says === 'reset' && Number(found) >= 400)
    if (!isFine) faults.push(`${name}: ${found}, wanted ${says}`)
    if (seen.length !== 0) faults.push(`${name}: ${seen.length} requests arrived`)
    const arrived = new Set(seen.flatMap(({ rawHeaders }) => rawHeaders.map((text) => text.toLowerCase())))
    const odd = ['x', 'a b', 'a:b', '', 'authorization: own', 'own'].filter((text) => arrived.has(text))
    if (odd.length > 0) faults.push(`${name}: ${odd.join()} arrived`)
  }
  const records = await recordsBetween(laptop, [...marks, await leaveMark(laptop)])
  for (const [at, [name]] of HEADS.entries()) {
    const own = records.get(marks[at] ?? '') ?? []
    if (own.length !== 1) faults.push(`${name}: ${own.length} records`)
    if (own.some(({ decision }) => decision !== 'DENY')) faults.push(`${name}: recorded as allowed`)
  }
  expect(faults).toEqual([])
})

const POST: Pairs = head({ ':method': 'POST', ':path': '/repos/o/r/issues' })

test('more bytes than content-length reset the stream; the surplus reaches no upstream', async () => {
  const long = headersFrame(1, [...POST, ['content-length', '2'], ['content-type', 'application/json']], {
    isEnd: false,
  })
  const session = await talk([
    long,
    frame(TYPE.data, FLAG.endStream, 1, Buffer.from('{}DELETE /repos/o/r HTTP/1.1\r\n\r\n')),
  ])
  const stream = session.streams.get(1)
  expect((stream?.reset ?? 0) > 0 || (stream?.status ?? 0) >= 400 || session.goaway !== null).toBe(true)
  expect(everything.recorder.seen.filter(({ body }) => body.length > 2)).toEqual([])
  expect(everything.recorder.seen.some(({ method }) => method === 'DELETE')).toBe(false)
})

test('fewer bytes than content-length says are never a complete request upstream', async () => {
  const short = headersFrame(1, [...POST, ['content-length', '20'], ['content-type', 'application/json']], {
    isEnd: false,
  })
  const from = everything.recorder.seen.length
  const session = await talk([short, frame(TYPE.data, FLAG.endStream, 1, Buffer.from('{}'))])
  const stream = session.streams.get(1)
  expect((stream?.reset ?? 0) > 0 || (stream?.status ?? 0) >= 400).toBe(true)
  expect(everything.recorder.seen.slice(from).filter(({ isComplete }) => isComplete)).toEqual([])
})

test('a trailer is dropped: it affects no decision and reaches no upstream', async () => {
  const from = everything.recorder.seen.length
  const session = await talk([
    headersFrame(1, [...POST, ['content-type', 'application/json']], { isEnd: false }),
    frame(TYPE.data, 0, 1, Buffer.from('{}')),
    headersFrame(1, [
      ['authorization', 'Bearer own'],
      ['x-http-method-override', 'DELETE'],
    ]),
  ])
  expect(session.streams.get(1)?.status).toBe(200)
  expect(everything.recorder.seen.slice(from)).toHaveLength(1)
  expect(everything.recorder.seen[from]?.rawHeaders.join('\n')).not.toMatch(/own|override/i)
})

/** The gateway still serves others. */
async function isAlive(): Promise<boolean> {
  const answer = await agent.send({ method: 'GET', host: HOST, target: '/user' })
  return answer.status === 200
}

test('opening and resetting 2,000 streams ends the session, and the gateway serves the next one', async () => {
  const frames = Array.from({ length: 2_000 }, (_, at) => [
    headersFrame(at * 2 + 1, head()),
    frame(TYPE.reset, 0, at * 2 + 1, Buffer.from([0, 0, 0, 8])),
  ]).flat()
  const session = await talk(frames, ({ goaway, isClosed }) => goaway !== null || isClosed)
  expect(session.goaway !== null || session.isClosed).toBe(true)
  expect(await isAlive()).toBe(true)
})

test.each([
  ['10,000 settings frames', () => Array.from({ length: 10_000 }, () => frame(TYPE.settings, 0, 0))],
  ['a settings frame of 2,000 entries', () => [frame(TYPE.settings, 0, 0, Buffer.alloc(12_000))]],
  ['20,000 pings', () => Array.from({ length: 20_000 }, () => frame(TYPE.ping, 0, 0, Buffer.alloc(8)))],
  [
    'an endless header block',
    () => [
      frame(TYPE.headers, FLAG.endStream, 1, Buffer.alloc(0)),
      ...Array.from({ length: 2_000 }, () => frame(TYPE.continuation, 0, 1, Buffer.alloc(1_000))),
    ],
  ],
  [
    '20,000 empty data frames',
    () => [
      headersFrame(1, POST, { isEnd: false }),
      ...Array.from({ length: 20_000 }, () => frame(TYPE.data, 0, 1)),
    ],
  ],
  [
    'priority frames for 20,000 streams',
    () => Array.from({ length: 20_000 }, (_, at) => frame(TYPE.priority, 0, at * 2 + 1, Buffer.alloc(5, 1))),
  ],
  ['a frame of 16 MiB', () => [frame(TYPE.data, 0, 1, Buffer.alloc(2 ** 20))]],
  ['a window that overflows', () => [frame(TYPE.window, 0, 0, Buffer.from([0x7f, 0xff, 0xff, 0xff]))]],
])('%s: the session may end, the gateway serves the next one meanwhile', async (_name, frames) => {
  const socket = await agent.tunnel(HOST, ['h2'])
  const flood = speakHttp2(socket, frames(), ({ goaway, isClosed }) => goaway !== null || isClosed, 1_000)
  expect(await isAlive()).toBe(true)
  await flood
  socket.destroy()
})
