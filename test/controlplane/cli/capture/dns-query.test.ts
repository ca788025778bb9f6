import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decode, encode } from 'dns-packet'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { forwardQuery } from '../../../../controlplane/cli/capture/dns-query.ts'

const QUERY = encode({ type: 'query', id: 77, questions: [{ type: 'A', name: 'api.example.com' }] })
const ANSWER = encode({ type: 'response', id: 77, questions: [{ type: 'A', name: 'api.example.com' }] })

let dir: string
const servers: Server[] = []
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-dns-'))
})
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
  rmSync(dir, { recursive: true, force: true })
})

const path = () => join(dir, 'gateway.sock')

function gateway(serve: (socket: Socket) => void): Promise<void> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    serve(socket)
  })
  servers.push(server)
  return new Promise((resolve) => server.listen(path(), resolve))
}

const framed = (bytes: Uint8Array) => Buffer.concat([Buffer.from([0, bytes.length]), bytes])
let dials = 0
const dial = () => {
  dials++
  return connect(path())
}
const ask = (timeoutMs: number) => forwardQuery(dial, Buffer.from(QUERY), timeoutMs)

test('a response that arrives byte by byte is returned complete', async () => {
  await gateway((socket) => {
    for (const byte of framed(ANSWER)) socket.write(Uint8Array.of(byte))
  })
  expect(await ask(10_000)).toEqual(Buffer.from(ANSWER))
})

test('a query is retried until a restarting gateway is available', async () => {
  dials = 0
  const answer = ask(10_000)
  while (dials < 3) await new Promise((resolve) => setTimeout(resolve, 10))
  await gateway((socket) => socket.end(framed(ANSWER)))
  expect(await answer).toEqual(Buffer.from(ANSWER))
})

test('a query is retried when the gateway closes the stream without a response', async () => {
  let asked = 0
  await gateway((socket) => {
    asked++
    if (asked < 3) socket.destroy()
    else socket.end(framed(ANSWER))
  })
  expect(await ask(10_000)).toEqual(Buffer.from(ANSWER))
})

test.each([
  ['is not there', () => Promise.resolve()],
  ['does not answer', () => gateway(() => undefined)],
  ['answers half', () => gateway((socket) => void socket.write(framed(ANSWER).subarray(0, 9)))],
])('a gateway that %s until the timeout results in SERVFAIL', async (_what, start) => {
  await start()
  const answer = await ask(300)
  expect(decode(answer)).toMatchObject({ id: 77, type: 'response', rcode: 'SERVFAIL' })
  expect(decode(answer).questions).toMatchObject([{ name: 'api.example.com', type: 'A' }])
})

test.each([[Buffer.alloc(0)], [Buffer.from([1, 2, 3])]])(
  'what is too short for a query has an empty answer: %o',
  async (bytes) => {
    expect(await forwardQuery(dial, bytes, 100)).toEqual(Buffer.alloc(0))
  },
)
