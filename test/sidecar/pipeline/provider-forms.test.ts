import { describe, expect, it } from 'vitest'
import { expectRefused, JSON_BODY, start } from './pipeline-world.ts'
import { STARTER } from './starter-rules.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules } from './test-world.ts'

const RULES: Rules = {
  connectors: [{ type: 'llm_a', name: 'openai' }],
  permissions: [['llm_a.*', 'allow']],
}
const FORM = ['Content-Type', 'multipart/form-data; boundary=xyz']
const SERVER = { type: 'mcp', server_label: 'x', server_url: 'https://attacker.example/mcp' }
const FILE = '; filename="a.jpg"'
const SDP = 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\n'

type Field = readonly [name: string, content: string | Buffer, head?: string]

function form(...fields: readonly Field[]): Buffer {
  const parts = fields.map(([name, content, head = '']) =>
    Buffer.concat([
      Buffer.from(`--xyz\r\nContent-Disposition: form-data; name="${name}"${head}\r\n\r\n`),
      Buffer.from(content),
      Buffer.from('\r\n'),
    ]),
  )
  return Buffer.concat([...parts, Buffer.from('--xyz--\r\n')])
}
const send = (target: string, body: string | Buffer, headers = FORM): TestExchangeInput => ({
  ...{ method: 'POST', host: 'api.openai.com', target, headers, body },
})
const CALLS = '/v1/realtime/calls'
const session = JSON.stringify({ type: 'realtime', tools: [SERVER] })

describe('a multipart form to a model provider', () => {
  it.each([
    ['JSON in a part', CALLS, form(['sdp', SDP], ['session', session])],
    ['JSON in a part that is labelled as a file', CALLS, form(['session', session, '; filename="a.png"'])],
    ['JSON behind blanks', CALLS, form(['session', `${' '.repeat(2_000)}${session}`])],
    ['JSON in the part of a member', CALLS, form(['session[tools]', JSON.stringify([SERVER])])],
    [
      'nested names',
      CALLS,
      form(['session[tools][0][type]', 'mcp'], ['session[tools][0][server_url]', SERVER.server_url]),
    ],
    ['nested names without an index', CALLS, form(['session[tools][][server_url]', SERVER.server_url])],
    ['nested names with dots', CALLS, form(['session.tools.0.server_url', SERVER.server_url])],
    ['a JSON string', CALLS, form(['session[tools][0][server_url]', JSON.stringify(SERVER.server_url)])],
    [
      'a reference by URL',
      '/v1/videos',
      form(['prompt', 'x'], ['input_reference[image_url]', 'https://attacker.example/']),
    ],
    [
      'an image by URL',
      '/v1/images/edits',
      form(['prompt', 'x'], ['images[0][image_url]', 'https://attacker.example/']),
    ],
  ])('is denied for a host that it names: %s', async (_where, target, body) => {
    const world = await start(RULES)
    const { reply } = await world.send(send(target, body))
    expect([reply.status, JSON.stringify(reply.json())]).toEqual([
      403,
      expect.stringContaining('attacker.example'),
    ])
    expectRefused(world)
  })

  it.each([
    ['JSON that is labelled as text', session, ['Content-Type', 'text/plain']],
    ['JSON that is labelled as SDP', session, ['Content-Type', 'application/sdp']],
    ['a form that is labelled as SDP', form(['session', session]), ['Content-Type', 'application/sdp']],
    ['SDP in front of a form', Buffer.concat([Buffer.from(SDP), form(['session', session])]), FORM],
    ['a content encoding', form(['session', '{}']), [...FORM, 'Content-Encoding', 'gzip']],
    [
      'another charset in a part',
      form(['session', '{}', '\r\nContent-Type: application/json; charset=utf-16']),
      FORM,
    ],
    [
      'a transfer encoding in a part',
      form(['session', 'e30=', '\r\nContent-Transfer-Encoding: base64']),
      FORM,
    ],
    ['bare line feeds', form(['session', '{}']).toString().replaceAll('\r\n', '\n'), FORM],
  ])('is refused with 415 where servers may read it differently: %s', async (_what, body, headers) => {
    const world = await start(RULES)
    expect((await world.send(send(CALLS, body, headers))).reply.status).toBe(415)
    expectRefused(world)
  })

  it('is refused where JSON in a part can be read in two ways', async () => {
    const world = await start(RULES)
    const body = form(['session', '{"tools":[],"tools":[{"type":"mcp"}]}'])
    expect((await world.send(send(CALLS, body))).reply.status).toBe(400)
    expectRefused(world)
  })

  it('is denied where it is too long to be read', async () => {
    const world = await start(RULES)
    const body = form(['image', Buffer.alloc(32 * 1024 * 1024)])
    expect((await world.send(send('/v1/images/edits', body))).reply.status).toBe(413)
    expect(world.records).toMatchObject([{ actions: ['llm_a.image.edit', 'llm_a.provider_tool.unknown'] }])
    expectRefused(world)
  })

  it.each([
    ['an SDP body', '/v1/realtime/calls', SDP, ['Content-Type', 'application/sdp']],
    ['SDP and a session', CALLS, form(['sdp', SDP], ['session', '{"type":"realtime"}']), FORM],
    [
      'a file',
      '/v1/images/edits',
      form(['image', Buffer.from([0x89, 0x50, 0, 0xff])], ['prompt', 'x']),
      FORM,
    ],
    ['a file', '/v1/content_provenance_checks', form(['file', Buffer.from([0xff, 0xd8])]), FORM],
  ])('passes with %s to %s, byte for byte', async (_what, target, body, headers) => {
    const hosted: Rules = { ...RULES, connectors: [{ type: 'llm_a', name: 'openai' }] }
    const world = await start(hosted)
    expect((await world.send(send(target, body, headers))).reply.status).toBe(200)
    expect(world.upstream.seen[0]?.body).toEqual(Buffer.from(body))
  })

  describe('of a video, whose model a rule may read', () => {
    const video = (...more: readonly Field[]) => send('/v1/videos', form(['prompt', 'x'], ...more))
    const onlyMini: Rules = {
      ...RULES,
      policies: [
        {
          document: {
            scope: { actions: ['llm_a.video.create'] },
            rules: [{ name: 'r', conditions: ['parameters.model != "sora-mini"'], decision: 'deny' }],
          },
        },
      ],
    }

    it('passes under the rules of the first start, byte for byte', async () => {
      const world = await start(STARTER)
      const request = video(['model', 'sora'], ['input_reference', Buffer.from([0xff, 0xd8]), FILE])
      expect((await world.send(request)).reply.status).toBe(200)
      expect(world.upstream.seen[0]?.body).toEqual(request.body)
      expect(world.records).toMatchObject([{ action_type: 'llm_a.video.create' }])
    })

    it.each([
      [200, [['model', 'sora-mini']]],
      [403, [['model', 'sora']]],
      [403, []],
      [
        400,
        [
          ['model', 'sora-mini'],
          ['model', 'sora'],
        ],
      ],
      [
        400,
        [
          ['model', 'sora-mini'],
          ['Model', 'sora'],
        ],
      ],
    ] as const)('is decided by its model: %i for %j', async (status, fields) => {
      const world = await start(onlyMini)
      expect((await world.send(video(...(fields as readonly Field[])))).reply.status).toBe(status)
      expect(world.upstream.seen).toHaveLength(status === 200 ? 1 : 0)
      expect(world.records).toHaveLength(1)
    })

    it('is refused where the model is in a body that the gateway does not read', async () => {
      const world = await start(onlyMini)
      const long = send('/v1/videos', form(['model', 'sora-mini'], ['x', Buffer.alloc(32 * 1024 * 1024)]))
      expect((await world.send(long)).reply.status).toBe(415)
      const sdp = send('/v1/videos', SDP, ['Content-Type', 'application/sdp'])
      expect((await world.send(sdp)).reply.status).toBe(415)
      expect(world.upstream.seen).toEqual([])
    })
  })

  it('is held with the words that its body is declared opaque', async () => {
    const world = await start({ ...RULES, permissions: [['llm_a.*', 'require_approval']] })
    await world.send(send('/v1/content_provenance_checks', form(['file', Buffer.from([0xff, 0xd8])])))
    expect(world.holds).toHaveLength(1)
    expect(JSON.stringify(world.holds[0])).toContain('The definition of the action declares the body opaque')
  })

  it('keeps its own name in the record of what is allowed', async () => {
    const world = await start(RULES)
    const request = send('/v1/threads/thread_1/runs', '{"assistant_id":"asst_1"}', JSON_BODY)
    expect((await world.send(request)).reply.status).toBe(200)
    expect(world.records).toMatchObject([
      { action_type: 'llm_a.run.create', actions: ['llm_a.run.create', 'llm_a.hosted_agent.run'] },
    ])
  })
})
