import { describe, expect, it } from 'vitest'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import { JSON_BODY, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules, World } from './test-world.ts'

const rules = (over: Partial<ConnectorEntry> = {}): Rules => ({
  agents: [
    { id: 'agent_a', name: 'a' },
    { id: 'agent_b', name: 'b' },
  ],
  connectors: [
    { type: 'llm_a', name: 'openai', ...over },
    { type: 'llm_c', name: 'gemini', ...over },
  ],
  permissions: [
    ['llm_a.*', 'allow'],
    ['llm_c.*', 'allow'],
  ],
})

type Field = readonly [disposition: string, content: string | Buffer]

function form(...fields: readonly Field[]): Buffer {
  const parts = fields.map(([disposition, content]) =>
    Buffer.concat([
      Buffer.from(`--xyz\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`),
      Buffer.from(content),
      Buffer.from('\r\n'),
    ]),
  )
  return Buffer.concat([...parts, Buffer.from('--xyz--\r\n')])
}

const FORM = ['Content-Type', 'multipart/form-data; boundary=xyz']
const sent = (agent: string, target: string, body: Buffer | string, headers = FORM): TestExchangeInput => ({
  ...{ method: 'POST', host: 'api.openai.com', target, headers, body },
  credentials: { kind: 'port', agent },
})
const line = (body: object) =>
  `${JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/responses', body: { model: 'm', ...body } })}\n`
const batch = (...lines: readonly string[]) =>
  form(['name="purpose"', 'batch'], ['name="file"; filename="a.jsonl"', lines.join('')])

/** Lets the provider give a file and a response to agent a. */
async function give(world: World): Promise<void> {
  world.upstream.answerWith((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":"file_1"}')
  })
  const file = form(['name="purpose"', 'vision'], ['name="file"; filename="a.png"', 'x'])
  expect((await world.send(sent('a', '/v1/files', file))).reply.status).toBe(200)
  expect(world.records.at(-1)?.given).toHaveLength(1)
  world.upstream.answerWith((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
}

describe('the id of a file of another agent is refused in an upload', () => {
  it.each<[string, string, Buffer | string, (readonly string[])?]>([
    ['in a request of a batch', '/v1/files', batch(line({}), line({ input: [{ file_id: 'file_1' }] }))],
    ['in a form beside a file', '/v1/containers/c_1/files', form(['name="file_id"', 'file_1'])],
    ['as JSON in place of that form', '/v1/containers/c_1/files', '{"file_id":"file_1"}', JSON_BODY],
    [
      'in an environment',
      '/v1/agents/environments/e_1/files',
      '{"type":"file_id","file_id":"file_1"}',
      JSON_BODY,
    ],
    ['in a form by its path', '/v1/videos', form(['name="input_reference[file_id]"', 'file_1'])],
    [
      'beside a file of a video',
      '/v1/videos/edits',
      form(['name="prompt"', 'x'], ['name="video[file_id]"', 'file_1']),
    ],
    ['in JSON of a form', '/v1/videos', form(['name="input_reference"', '{"file_id":"file_1"}'])],
  ])('%s', async (_where, target, body, headers = FORM) => {
    const world = await start(rules())
    await give(world)
    const seen = world.upstream.seen.length
    const { reply } = await world.send(sent('b', target, body, [...headers]))
    expect(reply.status).toBe(403)
    expect(reply.text()).toContain('that another agent created')
    expect(world.records.at(-1)).toMatchObject({ agent: 'b', decision: 'DENY', handle: 'foreign' })
    expect(world.upstream.seen).toHaveLength(seen)
    expect((await world.send(sent('a', target, body, [...headers]))).reply.status).toBe(200)
    world.apply(rules({ handles: 'shared' }))
    expect((await world.send(sent('b', target, body, [...headers]))).reply.status).toBe(200)
  })
})

describe('what the gateway does not read in an upload', () => {
  const BIG = form(['name="file"; filename="a.bin"', Buffer.alloc(33 * 1024 * 1024)])
  const CALL: TestExchangeInput = {
    ...{ method: 'POST', host: 'generativelanguage.googleapis.com', body: Buffer.alloc(5) },
    target: '/google.ai.generativelanguage.v1beta.FileService/GetFile',
    headers: ['Content-Type', 'application/grpc', 'TE', 'trailers'],
    credentials: { kind: 'port', agent: 'b' },
  }

  it.each<[string, TestExchangeInput]>([
    ['a form of more than 32 MiB', sent('b', '/v1/containers/c_1/files', BIG)],
    ['a body that is no form', sent('b', '/v1/containers/c_1/files', 'x', ['Content-Type', 'text/plain'])],
    ['a message over gRPC', CALL],
  ])('may name any id: %s', async (_what, request) => {
    const world = await start(rules())
    await world.send(request)
    expect(world.records.at(-1)).toMatchObject({ decision: 'ALLOW', handle: 'unknown' })
    world.apply(rules({ handles: 'strict' }))
    expect((await world.send(request)).reply.status).toBe(403)
    expect(world.records.at(-1)).toMatchObject({ decision: 'DENY', handle: 'unknown' })
  })

  it('is a file beside a form, which may have the form of JSON', async () => {
    const world = await start(rules({ handles: 'strict' }))
    world.state.onHandles = async ({ hashes }) => ({ owners: hashes.map(() => 'own' as const) })
    const file = form(['name="file"; filename="a.json"', '{"file_id":'])
    expect((await world.send(sent('b', '/v1/containers/c_1/files', file))).reply.status).toBe(200)
  })
})

it('a batch may name 1,024 ids, and the control plane returns their owners in several calls', async () => {
  const world = await start(rules())
  const sizes: number[] = []
  world.state.onHandles = async ({ hashes }) => {
    sizes.push(hashes.length)
    return { owners: hashes.map(() => 'own' as const) }
  }
  const lines = (count: number) =>
    Array.from({ length: count }, (_none, at) => line({ input: [{ file_id: `file_${at}` }] }))
  expect((await world.send(sent('b', '/v1/files', batch(...lines(130))))).reply.status).toBe(200)
  expect(sizes).toEqual([64, 64, 2])
  expect(world.records.at(-1)).toMatchObject({ handle: 'own' })
  expect((await world.send(sent('b', '/v1/files', batch(...lines(1_025))))).reply.status).toBe(413)
})
