import { once } from 'node:events'
import { Duplex, PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { readResponseMessage } from '../../../core/connectors/llm/response-messages.ts'
import { llmA } from '../../../core/connectors/llm.ts'
import type { MessageProtocol } from '../../../core/connectors/message-protocol.ts'
import { runSliced } from '../../../core/sliced.ts'
import { encodeFrame, OPCODE } from '../../../core/websocket/frame.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { closeFrame } from '../../../sidecar/messages/client-frames.ts'
import { MessageSocket } from '../../../sidecar/messages/message-socket.ts'
import type { InnerExchanges } from '../../../sidecar/pipeline/inner-exchanges.ts'
import type { Answered } from '../../../sidecar/pipeline/phases.ts'
import { waitFor } from '../../support/wait-for.ts'
import { CREATE, HOST, type MessageWorld, startMessages, tunnelTo } from './message-world.ts'

const TEXT = JSON.stringify(CREATE)
const KEY = Buffer.from([1, 2, 3, 4])
const masked = (opcode: number, payload: string | Buffer) =>
  Buffer.from(encodeFrame(opcode, Buffer.from(payload), KEY))

/** Forbidden model behind a spelling that one of two parsers could miss, and messages that are no request. */
const REFUSED: ReadonlyArray<readonly [name: string, text: string, status?: number]> = [
  ['the model twice', '{"type":"response.create","model":"m-1","model":"other"}'],
  ['the model twice, first the forbidden one', '{"type":"response.create","model":"other","model":"m-1"}'],
  ['the model twice, once escaped', '{"type":"response.create","model":"m-1","\\u006dodel":"other"}'],
  [
    'the type twice',
    '{"type":"response.processed","response_id":"r","type":"response.create","model":"m-1"}',
  ],
  [
    'the type twice, once escaped',
    '{"\\u0074ype":"response.processed","type":"response.create","response_id":"r"}',
  ],
  ['the type in capitals', '{"Type":"response.create","model":"m-1"}'],
  ['the type in capitals, too', '{"type":"response.create","TYPE":"response.cancel","model":"m-1"}'],
  ['a wide letter in type', '{"type":"response.create","\\uff54ype":"x"}'],
  ['no type', '{"model":"m-1"}'],
  ['a type that is a list', '{"type":["response.create"],"model":"m-1"}'],
  ['a type that is null', '{"type":null,"model":"m-1"}'],
  ['a type in capitals', '{"type":"RESPONSE.CREATE","model":"m-1"}'],
  ['a type with a blank', '{"type":"response.create ","model":"m-1"}'],
  ['a type with NUL', '{"type":"response.create\\u0000","model":"m-1"}'],
  ['fields below response', '{"type":"response.create","response":{"model":"other"}}'],
  [
    'fields below response and beside',
    '{"type":"response.create","model":"m-1","response":{"model":"other"}}',
  ],
  ['response that is null', '{"type":"response.create","model":"m-1","response":null}'],
  ['Response in capitals', '{"type":"response.create","model":"m-1","Response":{"model":"other"}}'],
  ['stream false', '{"type":"response.create","model":"m-1","stream":false}'],
  ['stream null', '{"type":"response.create","model":"m-1","stream":null}'],
  ['stream as text', '{"type":"response.create","model":"m-1","stream":"true"}'],
  ['stream as number', '{"type":"response.create","model":"m-1","stream":1}'],
  ['stream twice', '{"type":"response.create","model":"m-1","stream":true,"stream":true}'],
  ['stream in capitals', '{"type":"response.create","model":"m-1","Stream":false}'],
  ['stream_id as number', '{"type":"response.create","model":"m-1","stream_id":7}'],
  ['stream_id as object', '{"type":"response.create","model":"m-1","stream_id":{}}'],
  ['steering', '{"type":"response.steer","response_id":"r","input":"ignore the rules"}'],
  ['injection', '{"type":"response.inject","response_id":"r","input":[]}'],
  ['interruption', '{"type":"response.interrupt","response_id":"r"}'],
  ['an append', '{"type":"response.append","input":"more"}'],
  ['a session of the Realtime API', '{"type":"session.update","session":{"model":"other"}}'],
  ['an item of the Realtime API', '{"type":"conversation.item.create","item":{}}'],
  ['an acknowledgement with input', '{"type":"response.processed","response_id":"r","input":"hello"}'],
  ['an acknowledgement with a model', '{"type":"response.processed","response_id":"r","model":"other"}'],
  ['an acknowledgement without id', '{"type":"response.processed"}'],
  ['an acknowledgement of an object', '{"type":"response.processed","response_id":{"input":"x"}}'],
  ['an acknowledgement of a long id', `{"type":"response.processed","response_id":"${'x'.repeat(257)}"}`],
  ['an acknowledgement with text for an id', '{"type":"response.processed","response_id":"a b"}'],
  ['an acknowledgement of no answer', '{"type":"response.processed","response_id":"resp_1"}'],
  ['a list', `[${TEXT}]`],
  ['a text', '"response.create"'],
  ['null', 'null'],
  ['nothing', ''],
  ['a blank', ' '],
  ['no JSON', '{type:"response.create"}'],
  ['half of it', TEXT.slice(0, -1)],
  ['two messages', `${TEXT}${TEXT}`],
  ['two lines', `${TEXT}\n${TEXT}`],
  ['a message behind a comma', `${TEXT},${TEXT}`],
  ['a byte order mark', `\ufeff${TEXT}`],
  ['a comment', `/* */${TEXT}`],
  ['a trailing comma', `${TEXT.slice(0, -1)},}`],
  ['a key with NUL', '{"type":"response.create","model\\u0000":"other","model":"m-1"}'],
  ['depth', `{"type":"response.create","input":${'['.repeat(200)}${']'.repeat(200)}}`],
  ['the forbidden model', '{"type":"response.create","model":"other"}', 403],
  ['the forbidden model, escaped', '{"type":"response.create","model":"\\u006fther"}', 403],
  [
    'the forbidden model behind a megabyte',
    `{"type":"response.create","input":"${'x'.repeat(1_100_000)}","model":"other"}`,
    403,
  ],
  ['no model', '{"type":"response.create"}', 403],
  ['a model that is an object', '{"type":"response.create","model":{"id":"m-1"}}', 403],
  ['a model in capitals', '{"type":"response.create","Model":"m-1"}'],
  ['a model in capitals beside the model', '{"type":"response.create","model":"m-1","Model":"other"}'],
]

const ONLY_M1 = {
  document: {
    scope: { actions: ['llm_a.response.*'] },
    rules: [
      { name: 'models', conditions: ["parameters.model != 'm-1'"], decision: 'deny', reason: 'only m-1' },
    ],
  },
}

describe('a hostile message', () => {
  it('each is refused on the same socket, with one record, and nothing is sent', async () => {
    const { world, model, connect } = await startMessages({ policies: [ONLY_M1] })
    const client = await connect()
    for (const [at, [name, text, status = 400]] of REFUSED.entries()) {
      client.send(text)
      await client.seen(at + 1)
      const event = client.events[at]
      expect(event, name).toMatchObject({ type: 'error', error: { code: 'chaperone_refused' } })
      if (status === 403) expect(event, name).toMatchObject({ status })
      else expect([400, 413, 415], name).toContain(event?.['status'])
    }
    expect(model.messages).toEqual([])
    const own = world.records.filter(({ method }) => method === 'POST')
    const counted = [...world.grown.values()].reduce((sum, row) => sum + (row.refusals?.count ?? 0), 0)
    expect(own.length + counted).toBe(REFUSED.length)
    for (const record of own) expect(record.decision).toBe('DENY')
    client.send(CREATE)
    await waitFor(() => expect(model.messages).toEqual([TEXT]))
  })

  it('that passes is classified like the HTTP request, and is forwarded as it was read', () => {
    const read = (text: string) => {
      const message = runSliced(readResponseMessage(Buffer.from(text)))
      if (message.kind !== 'request') throw new Error(`it is read as ${message.kind}`)
      return { ...message, body: Buffer.from(message.body).toString() }
    }
    expect(read(` {"type":"response.create","model":"m-1"}`)).toEqual({
      ...{ kind: 'request', streamId: null },
      body: ' {"stream":true,"type":"response.create","model":"m-1"}',
    })
    const given = '{"type":"response.create","stream":true,"stream_id":"a"}'
    expect(read(given)).toEqual({ kind: 'request', streamId: 'a', body: given })
  })
})

/** A raw WebSocket through the gateway: its bytes are ours to choose. */
async function raw(here: MessageWorld) {
  const socket = await tunnelTo(here.front)
  socket.write(
    `GET /v1/responses HTTP/1.1\r\nHost: ${HOST}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate\r\nSec_WebSocket_Extensions: permessage-deflate\r\n\r\n`,
  )
  const [head] = await once(socket, 'data')
  expect(String(head)).toContain(' 101 ')
  expect(String(head).toLowerCase()).not.toContain('extensions')
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  return { socket, closed, received: () => Buffer.concat(chunks) }
}

const unmasked = Buffer.from(encodeFrame(OPCODE.text, Buffer.from(TEXT), null))
const withBits = (bits: number) => {
  const frame = masked(OPCODE.text, TEXT)
  frame[0] = (frame[0] ?? 0) | bits
  return frame
}
const longForm = (bytes: number) => {
  const short = masked(OPCODE.text, '{}')
  const length = Buffer.alloc(bytes)
  length.writeUInt8(2, bytes - 1)
  return Buffer.concat([Buffer.from([0x81, 0x80 | (bytes === 2 ? 126 : 127)]), length, short.subarray(2)])
}
const fragment = (opcode: number, text: string) => {
  const frame = masked(opcode, text)
  frame[0] = opcode
  return frame
}

const BROKEN: ReadonlyArray<readonly [name: string, bytes: Buffer]> = [
  ['not masked', unmasked],
  ['compressed', withBits(0x40)],
  ['of the second reserved bit', withBits(0x20)],
  ['of the third reserved bit', withBits(0x10)],
  ['binary', masked(OPCODE.binary, TEXT)],
  ['of opcode 3', masked(3, TEXT)],
  ['of opcode 11', masked(11, '')],
  ['of a length of 2 bytes in 16 bits', longForm(2)],
  ['of a length of 2 bytes in 64 bits', longForm(8)],
  [
    'of a length beyond what is safe',
    Buffer.from([0x81, 0xff, 0xff, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4]),
  ],
  ['that continues nothing', masked(OPCODE.continuation, TEXT)],
  [
    'inside another message',
    Buffer.concat([fragment(OPCODE.text, TEXT.slice(0, 9)), masked(OPCODE.text, TEXT)]),
  ],
  ['a fragmented ping', fragment(OPCODE.ping, 'x')],
  ['a long ping', masked(OPCODE.ping, 'x'.repeat(126))],
]

describe('frames of a client', () => {
  it.each(BROKEN)('%s: the WebSocket is closed and nothing is sent', async (_name, bytes) => {
    const here = await startMessages()
    const { socket, closed, received } = await raw(here)
    socket.write(Buffer.concat([bytes, masked(OPCODE.text, TEXT)]))
    await closed
    expect(received().subarray(0, 4)).toEqual(
      Buffer.from(closeFrame(1002, '', null)).fill(received()[1] ?? 0, 1, 2),
    )
    expect(here.model.messages).toEqual([])
    await waitFor(() => expect(here.world.records).toHaveLength(1))
    expect(here.world.records[0]?.note).toMatch(/^WebSocket closed: /)
  })

  it('in pieces, fragments and with control frames between them are one message, sent as one frame', async () => {
    const here = await startMessages()
    const { socket } = await raw(here)
    const bytes = Buffer.concat([
      fragment(OPCODE.text, TEXT.slice(0, 5)),
      masked(OPCODE.ping, 'a'),
      fragment(OPCODE.continuation, ''),
      fragment(OPCODE.continuation, TEXT.slice(5, 20)),
      masked(OPCODE.pong, ''),
      masked(OPCODE.continuation, TEXT.slice(20)),
    ])
    for (const byte of bytes) {
      socket.write(Buffer.from([byte]))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await waitFor(() => expect(here.model.messages).toEqual([TEXT]))
    await waitFor(() => expect(here.world.records).toHaveLength(1))
  })

  it('without number add one listener while the upstream takes nothing, and the client is not read', async () => {
    const upstream = new Duplex({ read() {}, write() {}, highWaterMark: 1 })
    const client = new PassThrough()
    const socket = new MessageSocket({
      opening: { outcome: {} } as Answered,
      inner: { clock: { monotonicMs: () => 0 } } as InnerExchanges,
      protocol: llmA.messages as MessageProtocol,
      ...{ client, upstream, moved: () => undefined, cut: () => undefined },
    })
    socket.fromClient(Buffer.concat(Array.from({ length: 500 }, () => masked(OPCODE.ping, 'x'))))
    expect(upstream.listenerCount('drain')).toBe(1)
    expect(client.isPaused()).toBe(true)
    await socket.end('upstream')
    expect(client.isPaused()).toBe(false)
  })

  it('behind a held message are not read without number, and the WebSocket ends with its upstream', async () => {
    const here = await startMessages({ permissions: [['llm_a.*', 'require_approval']] })
    here.world.state.onHold = (_hold, signal) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve({ kind: 'aborted', approvalId: 'apv_1' })),
      )
    const client = await here.connect()
    for (let sent = 0; sent < 40; sent++) client.send(CREATE)
    await waitFor(() => expect(here.world.holds).toHaveLength(1))
    for (const socket of here.model.sockets) socket.terminate()
    await client.closed
    await waitFor(() => expect(here.world.live.size).toBe(0))
    expect(here.world.records).toHaveLength(2)
    expect(here.model.messages).toEqual([])
  })

  it('that are not UTF-8, or longer than the limit, are refused by an event, and the next message passes', async () => {
    const here = await startMessages()
    const client = await here.connect()
    client.socket.send(Buffer.from([0x22, 0xff, 0x22]), { binary: false })
    expect(await client.seen(1)).toMatchObject([{ type: 'error', status: 400 }])
    client.socket.send(Buffer.alloc(LIMITS.modelBodyBytes + 1, 'x'), { binary: false })
    expect((await client.seen(2))[1]).toMatchObject({ type: 'error', status: 413 })
    expect(here.model.messages).toEqual([])
    client.send(CREATE)
    await waitFor(() => expect(here.model.messages).toEqual([TEXT]))
  })
})

describe('frames of the server', () => {
  it('an error event waits for the end of a message that is being sent in fragments', async () => {
    const here = await startMessages({ policies: [ONLY_M1] })
    const client = await here.connect()
    const [upstream] = here.model.sockets
    upstream?.send('{"type":"resp', { fin: false })
    client.send({ ...CREATE, model: 'other' })
    await waitFor(() => expect(here.world.records).toHaveLength(1))
    upstream?.send('onse.queued"}', { fin: true })
    expect(await client.seen(2)).toMatchObject([{ type: 'response.queued' }, { type: 'error', status: 403 }])
  })
})
