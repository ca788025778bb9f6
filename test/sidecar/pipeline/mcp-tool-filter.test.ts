import type { ServerResponse } from 'node:http'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import type { Answer } from '../../support/recorder.ts'
import { waitFor } from '../../support/wait-for.ts'
import { type McpWorld, startMcpWorld } from './mcp-world.ts'
import type { Rules } from './test-world.ts'

const open: McpWorld[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each[Symbol.asyncDispose]()
})

async function start(rules: Rules, answer: Answer): Promise<McpWorld> {
  const started = await startMcpWorld({ connectors: [{ mcp: { filterTools: true } }], ...rules }, answer)
  open.push(started)
  return started
}

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const RULES: Rules = {
  permissions: [
    ['mcp.*', 'allow'],
    ['mcp.tools.delete_*', 'deny'],
    ['mcp.tools.publish', 'require_approval'],
  ],
}

/** Odd spacing, a number that no double holds, and text beyond ASCII: what must come back as it was. */
const toolText = (name: string) =>
  `{ "name" : "${name}", "description":"Grüße 🙂","inputSchema":{"maximum":9223372036854775807} }`
const listText = (...names: string[]) =>
  `{"jsonrpc":"2.0","id":1,  "result":{"tools":[${names.map(toolText).join(' , ')}],"nextCursor":"c"}}`
const ALL = ['read', 'delete_repo', 'publish']

function answerJson(text: string, headers: Record<string, string> = {}): Answer {
  return (request, response) => {
    request.resume()
    const length = { 'content-length': String(Buffer.byteLength(text)) }
    response.writeHead(200, { 'content-type': 'application/json', ...length, ...headers }).end(text)
  }
}

function answerBytes(bytes: Buffer, headers: Record<string, string>): Answer {
  return (request, response) => {
    request.resume()
    response.writeHead(200, headers).end(bytes)
  }
}

const namesIn = (text: string): string[] =>
  JSON.parse(text).result.tools.map(({ name }: { name: string }) => name)

describe('an answer to tools/list', () => {
  it.each(['h1', 'h2'] as const)(
    'over %s loses what the agent would be refused, and no more',
    async (over) => {
      const { post, world } = await start(RULES, answerJson(listText(...ALL), { etag: '"1"', 'x-own': 'a' }))
      const { status, headers, body } = await post(LIST, { over })
      expect(status).toBe(200)
      expect(namesIn(body)).toEqual(['read', 'publish'])
      expect(Number(headers['content-length'])).toBe(Buffer.byteLength(body))
      expect(headers['etag']).toBeUndefined()
      expect(headers['x-own']).toBe('a')
      expect(body).toContain('9223372036854775807')
      expect(body).toContain('Grüße 🙂')
      await waitFor(() => expect(world.records).toHaveLength(1))
      expect(world.records[0]).toMatchObject({ note: '1 tool hidden', decision: 'ALLOW', status: 200 })
    },
  )

  it.each(['h1', 'h2'] as const)('over %s comes back byte for byte when nothing is hidden', async (over) => {
    const text = listText('read', 'publish')
    const { post, world } = await start(RULES, answerJson(text, { etag: '"1"' }))
    const { headers, body } = await post(LIST, { over })
    expect(body).toBe(text)
    expect(headers['etag']).toBe('"1"')
    expect(headers['content-length']).toBe(String(Buffer.byteLength(text)))
    await waitFor(() => expect(world.records[0]?.note).toBeNull())
  })

  it('is whole at the level monitor, where every call passes', async () => {
    const { post } = await start(
      { ...RULES, gateway: { enforcementLevel: 'monitor' } },
      answerJson(listText(...ALL)),
    )
    expect((await post(LIST)).body).toBe(listText(...ALL))
  })

  it('at enforce_high_risk loses only what that level denies', async () => {
    const names = ['read', 'delete_repo', 'summarise']
    const permissions: Rules['permissions'] = [['mcp.tools.list', 'allow']]
    const gateway = { enforcementLevel: 'enforce_high_risk' } as const
    const { post } = await start({ permissions, gateway }, answerJson(listText(...names)))
    expect(namesIn((await post(LIST)).body)).toEqual(['read', 'summarise'])
  })

  it.each([[{}], [{ mcp: { filterTools: false } }]])(
    'is whole unless the Connector sets filterTools (%j)',
    async (connector) => {
      const { post, world } = await start({ ...RULES, connectors: [connector] }, answerJson(listText(...ALL)))
      expect((await post(LIST, { headers: { 'accept-encoding': 'gzip' } })).body).toBe(listText(...ALL))
      expect(world.upstream.seen[0]?.header('accept-encoding')).toBe('gzip')
    },
  )

  const hold = { name: 'h', conditions: [], decision: 'require_approval' }
  const never: Rules['policies'] = [
    { document: { scope: { actions: ['codehost.*'] }, rules: [{ ...hold, decision: 'deny' }] } },
  ]
  it.each<[string, Rules, string]>([
    ['every tool is allowed', { permissions: [['mcp.*', 'allow']] }, 'gzip'],
    [
      'some are held',
      {
        permissions: [
          ['mcp.*', 'allow'],
          ['mcp.tools.pay', 'require_approval'],
        ],
      },
      'gzip',
    ],
    [
      'what is denied is no tool',
      {
        permissions: [
          ['mcp.*', 'allow'],
          ['mcp.rpc.*', 'deny'],
          ['mcp.unmapped.*', 'deny'],
        ],
      },
      'gzip',
    ],
    ['a policy is about others', { permissions: [['mcp.*', 'allow']], policies: never }, 'gzip'],
    [
      'one tool is denied',
      {
        permissions: [
          ['mcp.*', 'allow'],
          ['mcp.tools.pay', 'deny'],
        ],
      },
      'identity',
    ],
    [
      'tools with a prefix are denied',
      {
        permissions: [
          ['mcp.*', 'allow'],
          ['mcp.tools.p*', 'deny'],
        ],
      },
      'identity',
    ],
    [
      'all but some are denied',
      {
        permissions: [
          ['mcp.tools.list', 'allow'],
          ['mcp.tools.read*', 'allow'],
        ],
      },
      'identity',
    ],
    [
      'a policy may deny one',
      {
        permissions: [['mcp.*', 'allow']],
        policies: [
          {
            document: {
              scope: { actions: ['mcp.tools.x*'] },
              rules: [{ ...hold, conditions: ['parameters.name == "x"'], decision: 'deny' }],
            },
          },
        ],
      },
      'identity',
    ],
  ])('is asked for as the agent asks where %s', async (_what, rules, wanted) => {
    const { post, world } = await start(rules, answerJson(listText('read')))
    await post(LIST, { headers: { 'accept-encoding': 'gzip' } })
    expect(world.upstream.seen[0]?.header('accept-encoding')).toBe(wanted)
  })

  it('is asked for uncompressed, and other answers are not', async () => {
    const { post, world } = await start(RULES, answerJson(listText('read')))
    const headers = { 'accept-encoding': 'gzip, br' }
    await post(LIST, { headers })
    await post({ ...LIST, method: 'ping' }, { headers })
    const asked = world.upstream.seen.map((seen) => [
      seen.header('accept-encoding'),
      seen.headerCount('accept-encoding'),
    ])
    expect(asked).toEqual([
      ['identity', 1],
      ['gzip, br', 1],
    ])
  })

  it.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
  ] as const)('that comes as %s all the same passes as it is', async (coding, compress) => {
    const bytes = compress(listText(...ALL))
    const headers = { 'content-type': 'application/json', 'content-encoding': coding }
    const { post, world } = await start(RULES, answerBytes(bytes, headers))
    const { status, headers: got } = await post(LIST)
    expect(status).toBe(200)
    expect(got['content-encoding']).toBe(coding)
    await waitFor(() => expect(world.records[0]?.bytes_out).toBe(bytes.length))
  })

  it('of a batch is found by its id among the others', async () => {
    const other = '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"delete_repo"}]}}'
    const { post } = await start(RULES, answerJson(`[${other},${listText(...ALL)}]`))
    const { body } = await post([{ ...LIST, id: 2, method: 'prompts/list' }, LIST])
    const [first, second] = JSON.parse(body)
    expect(first).toEqual(JSON.parse(other))
    expect(namesIn(JSON.stringify(second))).toEqual(['read', 'publish'])
  })

  it('longer than what is held back passes as it is', async () => {
    const text = listText('delete_repo').replace(
      '"nextCursor":"c"',
      `"nextCursor":"${'x'.repeat(5_000_000)}"`,
    )
    const { post } = await start(RULES, answerJson(text))
    expect((await post(LIST)).body).toBe(text)
  })

  it('that breaks off is answered as a failure of the server, because nothing was shown yet', async () => {
    const { post, world } = await start(RULES, (request, response) => {
      request.resume()
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
      response.write('{"jsonrpc"', () => request.socket.destroy())
    })
    expect((await post(LIST)).status).toBe(502)
    await waitFor(() => expect(world.records).toHaveLength(1))
    expect(world.records[0]).toMatchObject({ status: 502, error_type: 'connect' })
  })

  it('that is an error or no list passes as it is', async () => {
    for (const text of ['{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"delete_repo"}}', 'oops', '']) {
      const { post } = await start(RULES, answerJson(text))
      expect((await post(LIST)).body).toBe(text)
    }
  })

  it('shows no tool whose name no request may carry', async () => {
    const { post } = await start(RULES, answerJson(listText('read', 're\\u200bad')))
    expect(namesIn((await post(LIST)).body)).toEqual(['read'])
  })
})

describe('an answer to tools/list as server-sent events', () => {
  type Script = (response: ServerResponse) => unknown
  const events =
    (script: Script): Answer =>
    (request, response) => {
      request.resume()
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.flushHeaders()
      script(response)
    }
  const event = (text: string) => `event: message\nid: 7\ndata: ${text}\n\n`

  it.each(['h1', 'h2'] as const)('over %s is filtered event by event, the rest untouched', async (over) => {
    const progress = event('{"jsonrpc":"2.0","method":"notifications/progress","params":{}}')
    const { post, world } = await start(
      RULES,
      events((response) => response.end(`: hi\n\n${progress}${event(listText(...ALL))}`)),
    )
    const { body } = await post(LIST, { over })
    expect(body.startsWith(`: hi\n\n${progress}event: message\nid: 7\ndata: `)).toBe(true)
    expect(namesIn(body.slice(body.lastIndexOf('data: ') + 6))).toEqual(['read', 'publish'])
    await waitFor(() => expect(world.records[0]?.note).toBe('1 tool hidden'))
  })

  it('with nothing to hide is the same bytes, whatever they are', async () => {
    const bytes = Buffer.concat([
      Buffer.from(`retry: 5\r\rdata: {"x":\r\ndata: 1}\r\n\r\n${event(listText('read'))}data: `),
      Buffer.from([0xff, 0xfe, 0x0a, 0x0a, 0xc3]),
    ])
    const { tunnel } = await start(
      RULES,
      events((response) => {
        for (const byte of bytes) response.write(Buffer.from([byte]))
        response.end()
      }),
    )
    const socket = await tunnel('http/1.1')
    const body = JSON.stringify(LIST)
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: tools.example\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    const parts: Buffer[] = []
    for await (const part of socket) parts.push(part)
    expect(unchunked(Buffer.concat(parts))).toEqual(bytes)
  })

  it('sends each event on before the next one comes, also half a character at a time', async () => {
    const first = event(listText(...ALL))
    const bytes = Buffer.from(first)
    const middle = bytes.indexOf(Buffer.from('🙂')) + 2
    let finish: () => void = () => undefined
    const { tunnel } = await start(
      RULES,
      events((response) => {
        response.write(bytes.subarray(0, middle), () => response.write(bytes.subarray(middle)))
        finish = () => response.end()
      }),
    )
    const socket = await tunnel('http/1.1')
    const body = JSON.stringify(LIST)
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: tools.example\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    let seen = ''
    socket.on('data', (part: Buffer) => {
      seen += part.toString('utf8')
    })
    await waitFor(() => expect(seen).toContain('"nextCursor"'))
    expect(seen).toContain('Grüße 🙂')
    expect(seen).not.toContain('delete_repo')
    finish()
    socket.destroy()
  })
})

/** The body of one chunked HTTP/1.1 answer. */
function unchunked(bytes: Buffer): Buffer {
  let rest = bytes.subarray(bytes.indexOf('\r\n\r\n') + 4)
  const parts: Buffer[] = []
  for (;;) {
    const end = rest.indexOf('\r\n')
    const size = Number.parseInt(rest.toString('latin1', 0, end), 16)
    if (size === 0) return Buffer.concat(parts)
    parts.push(rest.subarray(end + 2, end + 2 + size))
    rest = rest.subarray(end + 4 + size)
  }
}

describe('policies and the list', () => {
  const policy = (...rules: unknown[]): Rules => ({
    permissions: [['mcp.*', 'allow']],
    policies: [
      { document: { scope: { actions: ['mcp.tools.wipe', 'mcp.tools.pay', 'mcp.tools.read'] }, rules } },
    ],
  })
  const list = async (rules: Rules, ...names: string[]) => {
    const { post } = await start(rules, answerJson(listText(...names)))
    return namesIn((await post(LIST)).body)
  }

  it('a tool that a policy denies whatever its arguments is hidden', async () => {
    const rule = { name: 'no', conditions: ['action.type == "mcp.tools.wipe"'], decision: 'deny' }
    expect(await list(policy(rule), 'wipe', 'read')).toEqual(['read'])
    const byName = { name: 'no', conditions: ['parameters.name == "wipe"'], decision: 'deny' }
    expect(await list(policy(byName), 'wipe', 'read')).toEqual(['read'])
  })

  it('a tool that only some arguments are denied for stays', async () => {
    const conditions = ['has(parameters.arguments) && parameters.arguments.amount > 10']
    expect(await list(policy({ name: 'much', conditions, decision: 'deny' }), 'pay')).toEqual(['pay'])
    const strict = { name: 'much', conditions: ['parameters.arguments.amount > 10'], decision: 'deny' }
    expect(await list(policy(strict), 'pay')).toEqual(['pay'])
  })

  it('a tool that is allowed for some arguments stays, although all other arguments are denied', async () => {
    const little = { name: 'little', conditions: ['parameters.arguments.amount < 10'], decision: 'allow' }
    const rest = { name: 'rest', conditions: [], decision: 'deny' }
    expect(await list(policy(little, rest), 'pay')).toEqual(['pay'])
    expect(await list(policy({ ...little, decision: 'require_approval' }, rest), 'pay')).toEqual(['pay'])
    expect(await list(policy(rest), 'pay')).toEqual([])
  })
})
