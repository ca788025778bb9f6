import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { expectRefused, JSON_BODY, start } from './pipeline-world.ts'
import type { World } from './test-world.ts'

const CLOSED = '{"state":"closed"}'

describe('a method without a row on the path of known operations', () => {
  const PULL = '/repos/acme/site/pulls/1'
  const NAMES = ['codehost.unmapped.post', 'codehost.pr.close', 'codehost.pr.update']

  it.each(['POST', 'PUT', 'DELETE', 'PURGE', 'PROPFIND'])(
    '%s does not escape the denial of what the path can do, and the record names it',
    async (method) => {
      const world = await start({
        permissions: [
          ['codehost.*', 'allow'],
          ['codehost.pr.close', 'deny'],
        ],
      })
      const body = method === 'DELETE' ? undefined : CLOSED
      const { reply } = await world.send({
        method,
        target: PULL,
        headers: JSON_BODY,
        ...(body === undefined ? {} : { body }),
      })
      expect(reply.status).toBe(403)
      expect(reply.json()['action_type']).toBe('codehost.pr.close')
      expectRefused(world)
      expect(world.records[0]).toMatchObject({
        action_type: 'codehost.pr.close',
        decision: 'DENY',
        candidates: [`codehost.unmapped.${method.toLowerCase()}`, 'codehost.pr.close', 'codehost.pr.update'],
      })
      expect(world.records[0]?.why?.reason).toContain('The request may be any of')
    },
  )

  it.each([
    ['a body of another type', ['Content-Type', 'text/plain'], CLOSED],
    ['a body without a type', [], CLOSED],
    ['a compressed body', [...JSON_BODY, 'Content-Encoding', 'gzip'], gzipSync(CLOSED)],
    ['a body that is no JSON', JSON_BODY, '{state:closed'],
    ['no key of a row', JSON_BODY, '{}'],
    ['a key twice', JSON_BODY, '{"state":"open","state":"closed"}'],
  ])('nor with %s', async (_what, headers, body) => {
    const world = await start({
      permissions: [
        ['codehost.*', 'allow'],
        ['codehost.pr.close', 'deny'],
      ],
    })
    const { reply } = await world.send({ method: 'POST', target: PULL, headers, body })
    expect(reply.status).toBe(403)
    expectRefused(world)
    expect(world.records[0]?.action_type).toBe('codehost.pr.close')
  })

  it('needs the permission of the method as well', async () => {
    const world = await start({ permissions: [['codehost.pr.*', 'allow']] })
    expect(
      (await world.send({ method: 'POST', target: PULL, headers: JSON_BODY, body: '{}' })).reply.status,
    ).toBe(403)
    expectRefused(world)
    expect(world.records[0]?.action_type).toBe('codehost.unmapped.post')
  })

  it('passes where all of it is allowed, under the name of the strictest', async () => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    const { reply } = await world.send({ method: 'POST', target: PULL, headers: JSON_BODY, body: CLOSED })
    expect(reply.status).toBe(200)
    expect(world.records[0]).toMatchObject({ action_type: 'codehost.unmapped.post', candidates: NAMES })
  })

  it('is held where one of them is held, and the card lists what it may be', async () => {
    const world = await start({
      permissions: [
        ['codehost.*', 'allow'],
        ['codehost.pr.close', 'require_approval'],
      ],
    })
    const { reply } = await world.send({ method: 'POST', target: PULL, headers: JSON_BODY, body: CLOSED })
    expect(reply.status).toBe(403)
    expectRefused(world)
    expect(world.holds).toHaveLength(1)
    expect(world.holds[0]).toMatchObject({
      action_type: 'codehost.pr.close',
      parameters: { candidates: NAMES.map((type) => ({ type })) },
    })
    expect(world.records[0]).toMatchObject({ action_type: 'codehost.pr.close', candidates: NAMES })
  })

  it('is denied by a policy on the target of the operation', async () => {
    const world = await start({
      permissions: [['codehost.*', 'allow']],
      policies: [
        {
          document: {
            rules: [
              {
                name: 'site',
                conditions: ['resource.target == "acme/site" && action.type == "codehost.pr.close"'],
                decision: 'deny',
              },
            ],
          },
        },
      ],
    })
    const { reply } = await world.send({ method: 'POST', target: PULL, headers: JSON_BODY, body: CLOSED })
    expect(reply.status).toBe(403)
    expectRefused(world)
  })

  it('HEAD is decided as GET, and a read without a row stays what it is', async () => {
    const world = await start({
      permissions: [
        ['codehost.*', 'allow'],
        ['codehost.pr.get', 'deny'],
        ['codehost.pr.merge', 'deny'],
      ],
    })
    expect((await world.send({ method: 'HEAD', target: PULL })).reply.status).toBe(403)
    expect((await world.send({ method: 'OPTIONS', target: `${PULL}/merge` })).reply.status).toBe(200)
    expect(world.records.map(({ action_type }) => action_type)).toEqual([
      'codehost.pr.get',
      'codehost.unmapped.options',
    ])
  })

  it('applies to declared rows of a connector as well', async () => {
    const world = await start({
      connectors: [
        {
          type: 'codehost',
          name: 'team/codehost',
          auth: { type: 'token' },
          actions: [
            {
              method: 'DELETE',
              path: '/private/{id}',
              action: 'codehost.private.delete',
              effect: 'write',
              risk: 'low',
            },
            {
              method: 'PUT',
              path: '/private/{id}',
              action: 'codehost.private.put',
              effect: 'write',
              risk: 'low',
            },
          ],
        },
      ],
      permissions: [
        ['codehost.*', 'allow'],
        ['codehost.private.delete', 'deny'],
      ],
    })
    const send = (method: string) =>
      world.send({ method, target: '/private/7', headers: JSON_BODY, body: '{}' })
    expect((await send('POST')).reply.status).toBe(403)
    expectRefused(world)
    expect((await send('PUT')).reply.status).toBe(200)
    expect(world.records.map(({ action_type }) => action_type)).toEqual([
      'codehost.private.delete',
      'codehost.private.put',
    ])
  })
})

describe('candidates that are all allowed', () => {
  const ISSUE = '/repos/acme/site/issues/3'
  const BOTH = ['codehost.issue.close', 'codehost.issue.update']
  const allowed = () => start({ permissions: [['codehost.*', 'allow']] })

  async function send(
    world: World,
    body: string | Buffer | Readable,
    headers: readonly string[] = JSON_BODY,
  ) {
    const { reply } = await world.send({ method: 'PATCH', target: ISSUE, headers, body })
    expect(reply.status).toBe(200)
    const { action_type, candidates } = world.records.at(-1) ?? {}
    return { action_type, candidates: candidates ?? null }
  }

  const inPieces = (text: string, size: number) => {
    const bytes = Buffer.from(text)
    const count = Math.ceil(bytes.length / size)
    return Readable.from(Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size)))
  }
  const pad = (length: number) => `"pad":"${'x'.repeat(length)}"`

  it.each<[string, string]>([
    [CLOSED, 'codehost.issue.close'],
    ['{"state":"open"}', 'codehost.issue.update'],
    ['{"state":null}', 'codehost.issue.update'],
    ['{"title":"closed"}', 'codehost.issue.update'],
    ['{"state":{"state":"closed"}}', 'codehost.issue.update'],
    ['{"state":["closed"]}', 'codehost.issue.update'],
    ['{"title":"state","body":"\\"state\\":\\"closed\\""}', 'codehost.issue.update'],
    ['{"a":{"state":"closed"},"b":["state"]}', 'codehost.issue.update'],
    [' \n{ "st\\u0061te" : "cl\\u006fsed" }\n ', 'codehost.issue.close'],
    [`{${pad(1000)},"state":"closed"}`, 'codehost.issue.close'],
    [`{"state":"closed",${pad(300 * 1024)}}`, 'codehost.issue.close'],
    [`{${pad(300 * 1024)}}`, 'codehost.issue.update'],
  ])('the one that stands there once names the record (%#)', async (body, type) => {
    const world = await allowed()
    expect(await send(world, body)).toEqual({ action_type: type, candidates: null })
    if (body.length < 10_000)
      expect(await send(world, inPieces(body, 3))).toEqual({ action_type: type, candidates: null })
  })

  it.each<[string, string]>([
    ['twice, the milder first', '{"state":"closed","state":"open"}'],
    ['twice, the milder last', '{"state":"open","state":"closed"}'],
    ['twice with one value', '{"state":"open","state":"open"}'],
    ['twice, one of them escaped', '{"state":"open","\\u0073tate":"closed"}'],
    ['twice, many blanks apart', `{"state":"open",${' '.repeat(2_000)}"state"${' '.repeat(400)}:"closed"}`],
    ['twice, a nested object between', '{"state":"open","a":{"b":[{}]},"state":"closed"}'],
    ['in capitals', '{"STATE":"closed"}'],
    ['in capitals beside it', '{"state":"open","State":"closed"}'],
    ['with a long s', '{"state":"open","\u017ftate":"closed"}'],
    ['in full width', '{"state":"open","\uff53tate":"closed"}'],
    ['with a NUL', '{"state":"open","state\\u0000":"closed"}'],
    ['with a long value', `{"state":"${'x'.repeat(300)}"}`],
    ['with a value that is none', '{"state":tru}'],
    ['in a list', `[${CLOSED}]`],
    ['in no object: an empty list', '[]'],
    ['in no object: a list of texts', '["x"]'],
    ['in no object: an empty object in a list', '[{}]'],
    ['in no object: null', 'null'],
    ['in no object: a text', '"x"'],
    ['in no object: a number', ' 7 '],
    ['in no object: blanks', '  \n'],
    ['in no object: no JSON', 'title=x'],
    ['in a second object', `{"state":"open"}${CLOSED}`],
    ['behind the object', `{"state":"open"}\n\n${CLOSED}`],
    ['behind a byte order mark', `\ufeff${CLOSED}`],
    ['in single quotes', "{'state':'closed'}"],
    ['without quotes, beside it', '{"state":"open",state:"closed"}'],
    ['in a comment', '{"state":"open"/*,"x":"*/,"state":"closed"/*"*/}'],
    ['behind the window, alone', `{${pad(300 * 1024)},"state":"closed"}`],
    ['behind the window, again', `{"state":"open",${pad(300 * 1024)},"state":"closed"}`],
    ['behind the window, escaped', `{"state":"open",${pad(300 * 1024)},"stat\\u0065":"closed"}`],
    ['behind the window, in capitals', `{"state":"open",${pad(300 * 1024)},"State":"closed"}`],
    ['across the window', `{"state":"open",${pad(256 * 1024 - 30)},"state":"closed"}`],
    [
      'across the window, blanks within',
      `{"state":"open",${pad(256 * 1024 - 60)},"state"${' '.repeat(500)}:"closed"}`,
    ],
    ['in an object that does not end', '{"state":"open"'],
  ])('otherwise the strictest does, and the record lists them: %s', async (_what, body) => {
    const world = await allowed()
    expect(await send(world, body)).toEqual({ action_type: 'codehost.issue.close', candidates: BOTH })
    const size = body.length > 10_000 ? 10_007 : 3
    const pieces = await send(world, inPieces(body, size))
    // Without a length nothing tells that an object which did not end is all there is.
    expect(pieces).toEqual({ action_type: 'codehost.issue.close', candidates: BOTH })
  })

  it.each(['[]', '["x"]', `[${CLOSED}]`, 'null', '"closed"', '7'])(
    'a body that is no object is refused where it has to be read: %s',
    async (body) => {
      const world = await start({
        permissions: [
          ['codehost.*', 'allow'],
          ['codehost.issue.close', 'deny'],
        ],
      })
      const { reply } = await world.send({ method: 'PATCH', target: ISSUE, headers: JSON_BODY, body })
      expect(reply.status).toBe(400)
      expectRefused(world)
      expect(world.records[0]?.action_type).not.toBe('codehost.issue.update')
    },
  )

  it.each<[string, readonly string[], string | Buffer]>([
    ['compressed', [...JSON_BODY, 'Content-Encoding', 'gzip'], gzipSync(CLOSED)],
    ['of another type', ['Content-Type', 'text/plain'], CLOSED],
    ['without a type', [], '{"state":"open"}'],
    ['a form', ['Content-Type', 'application/x-www-form-urlencoded'], 'state=closed'],
    ['in UTF-16', ['Content-Type', 'application/json; charset=utf-16le'], Buffer.from(CLOSED, 'utf16le')],
    ['in UTF-16, unsaid', JSON_BODY, Buffer.from(CLOSED, 'utf16le')],
  ])('a body that cannot be read is named by the strictest: %s', async (_what, headers, body) => {
    const world = await allowed()
    expect(await send(world, body, headers)).toEqual({
      action_type: 'codehost.issue.close',
      candidates: BOTH,
    })
  })

  it('that are all denied, with a body that is not here, are named by the strictest', async () => {
    const world = await start({ permissions: [['codehost.*', 'deny']] })
    const body = new Readable({ read: () => undefined })
    const { reply } = await world.send({ method: 'PATCH', target: ISSUE, headers: JSON_BODY, body })
    expect(reply.status).toBe(403)
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ action_type: 'codehost.issue.close', candidates: BOTH })
    body.destroy()
  })
})
