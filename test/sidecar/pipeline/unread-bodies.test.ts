import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import { expectRefused, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules, World } from './test-world.ts'

const HOST = 'api.example.test'
const GENERIC: Partial<ConnectorEntry> = { type: 'generic', domains: [HOST], auth: { type: 'bearer' } }
const HELD: Rules = { connectors: [GENERIC], permissions: [['generic.*', 'require_approval']] }
const OPAQUE: Rules = { ...HELD, connectors: [{ ...GENERIC, bodies: 'opaque' }] }
const JSON_TEXT = '{"amount":1000000,"to":"mallory"}'
const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex')

function transfer(
  contentType: string | null,
  body: NonNullable<TestExchangeInput['body']>,
  ...headers: string[]
) {
  const type = contentType === null ? [] : ['Content-Type', contentType]
  return { method: 'POST', host: HOST, target: '/transfer', headers: [...type, ...headers], body } as const
}

const PART = 'Content-Disposition: form-data; name="order"\r\nContent-Type: application/json\r\n\r\n'
const GRPC = 'application/grpc'
const GRPC_JSON = 'application/grpc+json'

/** A gRPC message: a flag, the length, the bytes. */
function framed(text: string, flag = 0): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt8(flag)
  head.writeUInt32BE(Buffer.byteLength(text), 1)
  return Buffer.concat([head, Buffer.from(text)])
}

/** A client that waits for answers before it goes on: its body does not end. */
function openEnded(...messages: Buffer[]): Readable {
  const source = new Readable({ read: () => undefined })
  for (const message of messages) source.push(message)
  return source
}

/** Bodies that no approver could be shown. */
const UNREADABLE: ReadonlyArray<readonly [string, TestExchangeInput]> = [
  ['JSON as text', transfer('text/plain', JSON_TEXT)],
  ['JSON as text with a charset', transfer('text/plain; charset=utf-8', JSON_TEXT)],
  ['JSON as bytes', transfer('application/octet-stream', JSON_TEXT)],
  ['JSON without a type', transfer(null, JSON_TEXT)],
  ['JSON with an empty type', transfer('', JSON_TEXT)],
  ['JSON of an unknown type', transfer('application/x-anything', JSON_TEXT)],
  ['JSON as text/json', transfer('text/json', JSON_TEXT)],
  ['JSON as JavaScript', transfer('application/javascript', JSON_TEXT)],
  ['JSON as a sequence', transfer('application/json-seq', JSON_TEXT)],
  ['JSON as lines', transfer('application/x-ndjson', JSON_TEXT)],
  ['JSON as a picture', transfer('image/png', JSON_TEXT)],
  ['JSON as CSV', transfer('text/csv', JSON_TEXT)],
  ['JSON as HTML', transfer('text/html', JSON_TEXT)],
  ['a type with a blank in it', transfer('application / json', JSON_TEXT)],
  ['XML', transfer('application/xml', '<transfer amount="1000000"/>')],
  ['YAML', transfer('application/yaml', 'amount: 1000000')],
  ['SOAP', transfer('application/soap+xml', '<a/>')],
  ['MessagePack', transfer('application/msgpack', Buffer.from([0x81, 0xa1, 0x61, 1]))],
  ['CBOR', transfer('application/cbor', Buffer.from([0xa1, 0x61, 0x61, 1]))],
  ['protocol buffers', transfer('application/x-protobuf', Buffer.from([8, 1]))],
  ['GraphQL as text', transfer('application/graphql', 'mutation { pay }')],
  ['a form as text', transfer('text/plain', 'amount=1000000&to=mallory')],
  ['a form in parts', transfer('multipart/form-data; boundary=x', `--x\r\n${PART}{"a":1}\r\n--x--\r\n`)],
  ['a mixed body', transfer('multipart/mixed; boundary=x', `--x\r\n\r\n${JSON_TEXT}\r\n--x--\r\n`)],
  ['lines called JSON', transfer('application/json', `${JSON_TEXT}\n${JSON_TEXT}`)],
  ['a form called JSON', transfer('application/json', 'amount=1000000&to=mallory')],
  ['loose JSON', transfer('application/json', '{"amount":1000000,}')],
  ['commented JSON', transfer('application/json', '/* x */ {"amount":1}')],
  ['JSON with a byte order mark', transfer('application/json', `\ufeff${JSON_TEXT}`)],
  ['JSON in UTF-16', transfer('application/json', Buffer.from(JSON_TEXT, 'utf16le'))],
  [
    'JSON in declared UTF-16',
    transfer('application/json; charset=utf-16le', Buffer.from(JSON_TEXT, 'utf16le')),
  ],
  ['JSON in UTF-7', transfer('application/json; charset=utf-7', '+AHs-')],
  ['JSON in Latin-1', transfer('application/json', Buffer.from('{"to":"M\u00fcller"}', 'latin1'))],
  ['JSON twice', transfer('application/json', '{"amount":1,"amount":1000000}')],
  ['compressed JSON', transfer('application/json', gzipSync(JSON_TEXT), 'Content-Encoding', 'gzip')],
  ['JSON that says it is compressed', transfer('application/json', JSON_TEXT, 'Content-Encoding', 'br')],
  ['JSON of two encodings', transfer('application/json', JSON_TEXT, 'Content-Encoding', 'gzip, br')],
  [
    'a compressed form',
    transfer('application/x-www-form-urlencoded', gzipSync('a=1'), 'Content-Encoding', 'gzip'),
  ],
  ['two types', transfer('application/json', JSON_TEXT, 'Content-Type', 'text/plain')],
  ['a list of types', transfer('application/json, text/plain', JSON_TEXT)],
  ['JSON called gRPC', transfer('application/grpc', JSON_TEXT)],
  ['JSON behind a gRPC frame that is too short', transfer(GRPC_JSON, `\0\0\0\0\u0001${JSON_TEXT}`)],
  ['a gRPC message', transfer(GRPC, framed(JSON_TEXT))],
  ['a gRPC message of a declared encoding', transfer('application/grpc+proto', framed(JSON_TEXT))],
  ['a gRPC message with parameters on its type', transfer(`${GRPC}; a=b`, framed(JSON_TEXT))],
  ['a gRPC message of JSON', transfer(GRPC_JSON, framed(JSON_TEXT))],
  ['a compressed gRPC message', transfer(GRPC, framed(JSON_TEXT, 1), 'grpc-encoding', 'gzip')],
  ['two gRPC messages', transfer(GRPC, Buffer.concat([framed('a'), framed(JSON_TEXT)]))],
  ['an empty gRPC message', transfer(GRPC, framed(''))],
  ['a gRPC call whose client goes on sending', transfer(GRPC, openEnded(framed(JSON_TEXT)))],
  ['a gRPC call of JSON whose client goes on sending', transfer(GRPC_JSON, openEnded(framed(JSON_TEXT)))],
  ['a gRPC call whose client has sent nothing yet', transfer(GRPC, openEnded())],
  ['a gRPC message of gRPC-Web', transfer('application/grpc-web+proto', framed(JSON_TEXT))],
  ['a stream of text', transfer('text/plain', Readable.from([Buffer.from(JSON_TEXT)]))],
]

describe('a body that is not readable', () => {
  it.each(UNREADABLE)('is not held: %s', async (_what, input) => {
    const world = await start(HELD)
    const exchange = await world.send(input)
    expect([400, 415]).toContain(exchange.reply.status)
    expect(world.holds).toEqual([])
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ decision: 'DENY', reason: 'ambiguous' })
  })

  it('is not held as a form where the API reads JSON alone, whatever was read for another method', async () => {
    const world = await start({ permissions: [['codehost.*', 'require_approval']] })
    world.state.onHold = async () => ({ kind: 'approved', approvalId: 'apv_9', by: null })
    const form = ['Content-Type', 'application/x-www-form-urlencoded']
    const target = '/repos/acme/site/issues'
    const { reply } = await world.send({ method: 'POST', target, headers: form, body: '{"title":"x"}' })
    expect(reply.status).toBe(415)
    expect(reply.json()['detail']).toContain('send the body as application/json')
    expect(world.holds).toEqual([])
    expectRefused(world)
  })

  it('is refused with what to change', async () => {
    const world = await start(HELD)
    const { reply } = await world.send(transfer('text/plain', JSON_TEXT))
    expect(reply.status).toBe(415)
    expect(reply.json()['detail']).toMatch(/text\/plain.*application\/json.*bodies: opaque/s)
  })

  it.each<readonly [string, TestExchangeInput, RegExp]>([
    ['a unary call', transfer(GRPC, framed('x')), /has the media type application\/grpc\. /],
    [
      'a call that goes on',
      transfer(GRPC, openEnded(framed('x'))),
      /has not finished sending the body.*gRPC/s,
    ],
  ])('of gRPC is refused with what to change: %s', async (_what, input, what) => {
    const world = await start(HELD)
    const { reply } = await world.send(input)
    expect(reply.status).toBe(415)
    expect(reply.json()['detail']).toMatch(what)
    expect(reply.json()['detail']).toMatch(/gRPC.*bodies: opaque/s)
    expectRefused(world)
  })

  it.each(['PUT', 'PATCH', 'DELETE', 'POST'])('is not held with %s, and not read first', async (method) => {
    const world = await start(HELD)
    const exchange = await world.send({ ...transfer('text/plain', 'x'), method })
    expect(exchange.reply.status).toBe(415)
    expectRefused(world)
  })

  it.each(UNREADABLE.slice(0, 12))('streams by where it is allowed: %s', async (_what, input) => {
    const world = await start({ ...HELD, permissions: [['generic.*', 'allow']] })
    expect((await world.send(input)).reply.status).toBe(200)
    expect((await world.upstream.received(1))[0]?.body.toString()).toBe(JSON_TEXT)
  })

  it('is denied by name where it is denied', async () => {
    const world = await start({ ...HELD, permissions: [['generic.*', 'deny']] })
    expect((await world.send(transfer('text/plain', JSON_TEXT))).reply.status).toBe(403)
    expectRefused(world)
  })

  it.each<readonly [string, TestExchangeInput]>([
    ['no body', { method: 'POST', host: HOST, target: '/transfer' }],
    [
      'no body, but a type',
      { method: 'POST', host: HOST, target: '/transfer', headers: ['Content-Type', 'text/plain'] },
    ],
    ['a length of 0', transfer('text/plain', '')],
    ['chunks that hold nothing', transfer(null, Readable.from([]))],
    ['JSON', transfer('application/json', JSON_TEXT)],
    ['JSON of another name', transfer('application/vnd.api+json; charset=UTF-8', JSON_TEXT)],
    ['JSON as a number', transfer('application/json', '5')],
    ['a form', transfer('application/x-www-form-urlencoded', 'amount=5')],
  ])('is not what %s is', async (_what, input) => {
    const world = await start(HELD)
    await world.send(input)
    expect(world.holds).toHaveLength(1)
    expect(world.holds[0]?.unread_body).toBeNull()
  })
})

describe('a Connector with opaque bodies', () => {
  it.each<readonly [string, TestExchangeInput, Buffer | string]>([
    ['bytes', transfer('application/octet-stream', JSON_TEXT), JSON_TEXT],
    ['text', transfer('text/plain', JSON_TEXT), JSON_TEXT],
    ['no type', transfer(null, JSON_TEXT), JSON_TEXT],
    [
      'a compressed body',
      transfer('application/json', gzipSync(JSON_TEXT), 'Content-Encoding', 'gzip'),
      gzipSync(JSON_TEXT),
    ],
    ['another charset', transfer('application/json; charset=utf-16', JSON_TEXT), JSON_TEXT],
    ['a form called JSON', transfer('application/json', 'amount=5'), 'amount=5'],
    [
      'a form in parts',
      transfer('multipart/form-data; boundary=x', `--x\r\n${PART}1\r\n--x--\r\n`),
      `--x\r\n${PART}1\r\n--x--\r\n`,
    ],
  ])('has %s held, and the card says so in words', async (_what, input, bytes) => {
    const world = await start(OPAQUE)
    world.state.onHold = async () => ({ kind: 'approved', approvalId: 'apv_9', by: null })
    expect((await world.send(input)).reply.status).toBe(200)
    const [hold] = world.holds
    const said = hold?.unread_body?.description ?? ''
    expect(said).toContain('not shown')
    expect(said).toContain(`${bytes.length} bytes`)
    expect(said).toContain(`SHA-256 ${sha256(bytes)}`)
    expect(said).toContain('Connector')
    expect(hold?.unread_body?.excerpt).toBeNull()
    expect(hold?.body_sha256).toBe(sha256(bytes))
    expect((await world.upstream.received(1))[0]?.body).toEqual(Buffer.from(bytes))
  })

  it.each<readonly [string, TestExchangeInput, Buffer]>([
    ['a message', transfer(GRPC, framed(JSON_TEXT)), framed(JSON_TEXT)],
    ['a message of JSON', transfer(GRPC_JSON, framed(JSON_TEXT)), framed(JSON_TEXT)],
    ['no message at all', transfer(GRPC, JSON_TEXT), Buffer.from(JSON_TEXT)],
  ])('has a gRPC call held: %s', async (_what, input, bytes) => {
    const world = await start(OPAQUE)
    await world.send(input)
    expect(world.holds[0]?.unread_body?.description).toContain('The Connector declares')
    expect(world.holds[0]?.unread_body?.description).toContain(`SHA-256 ${sha256(bytes)}`)
    expectRefused(world)
  })

  it.each([GRPC, GRPC_JSON])('has a call of %s held whose client continues to send', async (type) => {
    const world = await start(OPAQUE)
    await world.send(transfer(type, openEnded(framed('one'))))
    expect(world.holds[0]?.parameters).toMatchObject({ request_stream: expect.stringContaining('open') })
    expectRefused(world)
  })

  it.each<readonly [string, TestExchangeInput]>([
    ['a body', transfer('application/octet-stream', 'x')],
    ['a gRPC call whose client goes on sending', transfer(GRPC, openEnded(framed('one')))],
  ])('that no longer declares them has no second card made for %s', async (_what, input) => {
    const world = await start(OPAQUE)
    const rules = [{ name: 'new', conditions: [], decision: 'require_approval' }]
    world.state.onHold = async () => {
      world.apply({ ...HELD, policies: [{ document: { rules } }] })
      return { kind: 'approved', approvalId: 'apv_9', by: null }
    }
    expect((await world.send(input)).reply.status).toBe(415)
    expect(world.holds).toHaveLength(1)
    expectRefused(world)
  })

  it('still has what can be read shown', async () => {
    const world = await start(OPAQUE)
    await world.send(transfer('application/json', JSON_TEXT))
    expect(world.holds[0]?.unread_body).toBeNull()
    expect(world.holds[0]?.parameters).toMatchObject({ other_fields: { to: 'mallory' } })
  })

  it('may say so for one of its rows alone', async () => {
    const row = {
      method: 'PUT',
      path: '/files/{name}',
      action: 'generic.file.put',
      effect: 'write',
      risk: 'medium',
    } as const
    const world = await start({
      ...HELD,
      connectors: [{ ...GENERIC, actions: [{ ...row, bodies: 'opaque' }] }],
    })
    await world.send({ ...transfer('image/png', 'x'), method: 'PUT', target: '/files/a' })
    expect(world.holds[0]).toMatchObject({ action_type: 'generic.file.put' })
    expect(world.holds[0]?.unread_body?.description).toContain('definition of the action')
    expect((await world.send(transfer('image/png', 'x'))).reply.status).toBe(415)
    expect(world.holds).toHaveLength(1)
  })
})

describe('a catalogue row whose bodies are files', () => {
  const held = (type: 'codehost' | 'llm_a' | 'llm_b' | 'payments' | 'chat'): Rules => ({
    connectors: [{ type, name: `team/${type}`, auth: { type: 'bearer' } }],
    permissions: [[`${type}.*`, 'require_approval']],
  })
  const FORM = 'multipart/form-data; boundary=x'
  const PNG = 'image/png'
  it.each([
    ['codehost', 'uploads.github.com', '/repos/a/b/releases/1/assets?name=a.zip', 'application/zip'],
    ['llm_a', 'api.openai.com', '/v1/files', FORM],
    ['llm_a', 'api.openai.com', '/v1/images/edits', FORM],
    ['llm_a', 'api.openai.com', '/v1/audio/transcriptions', FORM],
    ['llm_a', 'api.openai.com', '/v1/uploads/u_1/parts', FORM],
    ['llm_b', 'api.anthropic.com', '/v1/files', FORM],
    ['payments', 'files.stripe.com', '/v1/files', FORM],
    ['chat', 'slack.com', '/api/files.upload', FORM],
    ['chat', 'slack.com', '/api/users.setPhoto', FORM],
    ['chat', 'files.slack.com', '/upload/v1/abc', PNG],
  ] as const)('has them held at %s %s%s, and the card says so', async (type, host, target, contentType) => {
    const world = await start(held(type))
    const body = `--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc\r\n--x--\r\n`
    const exchange = await world.send({
      method: 'POST',
      host,
      target,
      headers: ['Content-Type', contentType],
      body,
    })
    expect(exchange.reply.status).toBe(403)
    expect(world.holds[0]?.unread_body?.description).toMatch(/not shown.*bytes.*SHA-256/s)
    expectRefused(world)
  })

  it('passes after the answer', async () => {
    const world = await start(held('chat'))
    world.state.onHold = async () => ({ kind: 'approved', approvalId: 'apv_9', by: null })
    const body = `--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc\r\n--x--\r\n`
    const input = { method: 'POST', host: 'slack.com', target: '/api/files.upload', body }
    const exchange = await world.send({ ...input, headers: ['Content-Type', FORM] })
    expect(exchange.reply.status).toBe(200)
    expect((await world.upstream.received(1))[0]?.body.toString()).toBe(body)
  })

  it('is refused where a policy uses their content', async () => {
    const conditions = ['has(parameters.channels) && parameters.channels == "C1"']
    const world = await start({
      ...held('chat'),
      policies: [{ document: { rules: [{ name: 'c1', conditions, decision: 'deny' }] } }],
    })
    const input = { method: 'POST', host: 'slack.com', target: '/api/files.upload', body: 'x' }
    const exchange = await world.send({ ...input, headers: ['Content-Type', 'text/plain'] })
    expect(exchange.reply.status).toBe(415)
    expectRefused(world)
  })

  it.each([
    ['codehost', 'api.github.com', 'PUT', '/repos/a/b/pulls/1/merge'],
    ['codehost', 'api.github.com', 'POST', '/repos/a/b/pages'],
    ['llm_a', 'api.openai.com', 'POST', '/v1/containers'],
    ['llm_a', 'api.openai.com', 'POST', '/v1/unknown'],
    ['payments', 'api.stripe.com', 'POST', '/v1/refunds'],
    ['chat', 'slack.com', 'POST', '/api/chat.postMessage'],
    ['codehost', 'api.github.com', 'POST', '/graphql'],
  ] as const)('is none of the others: %s %s %s %s', async (type, host, method, target) => {
    const world = await start(held(type))
    const headers = ['Content-Type', 'text/plain']
    const exchange = await world.send({ method, host, target, headers, body: '{"a":1}' })
    expect([400, 415]).toContain(exchange.reply.status)
    expectRefused(world)
  })
})

describe('on an MCP connector', () => {
  const MCP: Rules = {
    connectors: [{ type: 'mcp', domains: [HOST], endpoint: ['/mcp'], auth: { type: 'bearer' } }],
    permissions: [['mcp.*', 'require_approval']],
  }
  const post = (contentType: string, body: string | Buffer): TestExchangeInput => ({
    ...{ method: 'POST', host: HOST, target: '/mcp', headers: ['Content-Type', contentType], body },
  })

  async function shown(world: World, input: TestExchangeInput): Promise<string> {
    await world.send(input)
    expect(world.holds).toHaveLength(1)
    expect(world.holds[0]?.action_type).toBe('mcp.rpc.unknown')
    return world.holds[0]?.unread_body?.excerpt ?? ''
  }

  it('a body that is no message is held as unknown, and its first KiB is quoted', async () => {
    const world = await start(MCP)
    expect(await shown(world, post('application/json', `pay mallory ${'x'.repeat(5_000)}`))).toBe(
      `pay mallory ${'x'.repeat(1_012)}`,
    )
    expect(world.holds[0]?.unread_body?.description).toContain('5012 bytes')
  })

  it.each([
    ['an encoding', ['Content-Type', 'application/json', 'Content-Encoding', 'gzip']],
    ['another charset', ['Content-Type', 'application/json; charset=utf-16']],
  ] as const)('a body with %s is held as unknown, with its size, type and hash', async (_what, headers) => {
    const world = await start(MCP)
    world.state.onHold = async () => ({ kind: 'approved', approvalId: 'apv_1', by: null })
    const body = Buffer.from([0x1f, 0x8b, 0x08, 0x61])
    const input = { ...post('', body), headers }
    expect(await shown(world, input)).toContain('a')
    expect(world.holds[0]?.unread_body?.description).toMatch(/4 bytes, media type application\/json.*SHA-256/)
    expect(world.upstream.seen.map((seen) => seen.body)).toEqual([body])
    expect(world.records).toMatchObject([{ action_type: 'mcp.rpc.unknown', note: 'approved' }])
  })

  it.each(['allow', 'deny'] as const)(
    'a body with an encoding is refused with the remedy where rules %s unknown messages',
    async (decision) => {
      const world = await start({ ...MCP, permissions: [['mcp.*', decision]] })
      const headers = ['Content-Type', 'application/json', 'Content-Encoding', 'gzip']
      const { reply } = await world.send({ ...post('', Buffer.from([0x1f, 0x8b])), headers })
      expect([reply.status, reply.json()['detail']]).toEqual([
        415,
        expect.stringContaining('Content-Encoding'),
      ])
      expectRefused(world)
    },
  )

  it('a gRPC call whose client continues to send is not held, because the card could quote nothing', async () => {
    const world = await start({ ...MCP, connectors: [{ ...GENERIC, type: 'mcp', endpoint: ['/mcp'] }] })
    const { reply } = await world.send({ ...transfer(GRPC, openEnded(framed('x'))), method: 'PUT' })
    expect(reply.status).toBe(415)
    expectRefused(world)
  })

  it.each<readonly [string, string, string | Buffer, string]>([
    ['text', 'text/plain', 'hello', 'hello'],
    ['bytes that are no text', 'application/octet-stream', Buffer.from([0x61, 0xff, 0x62]), 'a\ufffdb'],
    ['NUL', 'application/json', 'a\0b', 'a\u2400b'],
    ['a character that is cut', 'text/plain', `${'x'.repeat(1_023)}\u00fc`, 'x'.repeat(1_023)],
    ['a byte order mark', 'text/plain', '\ufeffa', '\ufeffa'],
  ])('quotes %s in a form that can be stored', async (_what, type, body, expected) => {
    expect(await shown(await start(MCP), post(type, body))).toBe(expected)
  })
})
