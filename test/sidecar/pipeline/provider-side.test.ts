import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { recordTarget } from '../../../core/request/redact.ts'
import { type GoldenCase, USUAL_HOST } from '../../core/connectors/golden.ts'
import { expectedActions, listedActions } from './listed-actions.ts'
import { expectRefused, JSON_BODY, start } from './pipeline-world.ts'
import { STARTER } from './starter-rules.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules, World } from './test-world.ts'

const CASES: readonly GoldenCase[] = JSON.parse(
  readFileSync(new URL('../../golden/requests/provider-side.json', import.meta.url), 'utf8'),
)

const sent = ({ connector, request }: GoldenCase): TestExchangeInput => ({
  method: request.method,
  host: USUAL_HOST[connector],
  target: request.target,
  headers: JSON_BODY,
  body: request.body ?? '',
})

const decisionOf = (world: World) => {
  const [record] = world.records
  return { decision: record?.decision, actions: record?.actions ?? [record?.action_type] }
}

describe('under the rules of the first start', () => {
  const acting = CASES.filter(({ expect: { actions } }) => actions !== undefined)
  const plain = CASES.filter(({ expect: { action, effect } }) => action !== undefined && effect !== 'write')

  it.each(acting.map((one) => [`${one.connector}: ${one.name}`, one] as const))(
    '%s is not free',
    async (_, one) => {
      const world = await start(STARTER)
      world.state.onHold = async () => ({ kind: 'denied', approvalId: 'apv_1', by: 'usr_1', note: null })
      const { reply } = await world.send(sent(one))
      expect(reply.status).toBe(403)
      expect(world.upstream.seen).toEqual([])
      expect(decisionOf(world)).toEqual({ decision: 'DENY', actions: [...new Set(one.expect.actions)] })
      const listed = expectedActions(one)
      expect(listedActions(world.records[0]?.audit?.requested['parameters'])).toEqual(listed)
      const recorded = (one.expect.details ?? []).map(({ target }) => target && recordTarget(target))
      expect(world.records[0]?.action_details).toEqual(
        listedActions({ actions: listed }).map((action, at) => ({ ...action, target: recorded[at] })),
      )
      const [card] = world.holds
      if (card !== undefined) expect(listedActions(card.parameters)).toEqual(listed)
    },
  )

  const foreign = CASES.flatMap((one) => (one.foreign === undefined ? [] : [{ ...one, kind: one.foreign }]))

  it.each(foreign.map((one) => [`${one.connector}: ${one.name}`, one] as const))(
    '%s is not free',
    async (_, one) => {
      const world = await start(STARTER)
      const asked: string[] = []
      world.state.onHandles = async ({ hashes }) => {
        asked.push(...hashes)
        return { owners: hashes.map(() => 'foreign') }
      }
      const { reply } = await world.send(sent(one))
      expect(reply.status).toBe(403)
      expect(reply.text()).toContain(`The request uses a ${one.kind}`)
      expect(asked).toHaveLength(1)
      expectRefused(world)
      const { action, target } = one.expect
      expect(world.records).toMatchObject([
        {
          decision: 'DENY',
          action_type: action,
          handle: 'foreign',
          audit: { requested: { resource: { target } } },
        },
      ])
      expect(world.records[0]?.why?.reason).toContain(
        `a ${one.kind} that another agent created at the provider`,
      )
    },
  )

  it.each(plain.map((one) => [`${one.connector}: ${one.name}`, one] as const))(
    '%s is free',
    async (_, one) => {
      const world = await start(STARTER)
      const { reply } = await world.send(sent(one))
      expect(reply.status).toBe(200)
      expect(world.records).toMatchObject([{ decision: 'ALLOW', action_type: one.expect.action }])
    },
  )
})

describe('an allowed request', () => {
  it('has a record with name, target and effect of each action', async () => {
    const world = await start({ ...STARTER, gateway: { enforcementLevel: 'monitor' } })
    const body = JSON.stringify({
      ...{ model: 'gpt-5', input: 'x', background: true },
      tools: [
        { type: 'mcp', server_url: 'https://tools.example/mcp' },
        { type: 'function', name: 'f' },
      ],
    })
    const { reply } = await world.send(responses(body))
    expect(reply.status).toBe(200)
    expect(world.records).toMatchObject([
      {
        decision: 'ALLOW',
        action_details: [
          { type: 'llm_a.response.create', target: 'gpt-5', effect: 'compute' },
          { type: 'llm_a.hosted_agent.run', effect: 'write', effects: ['delegate'] },
          { type: 'llm_a.provider_tool.mcp', target: 'tools.example', effect: 'write' },
        ],
        function_tools: 1,
      },
    ])
  })
})

describe('answers to questions of the provider', () => {
  const ANSWERING: Rules = {
    connectors: [{ type: 'llm_a', name: 'openai' }],
    permissions: [['llm_a.*', 'allow']],
    gateway: { maxActionsPerRequest: 4 },
  }
  const answers = (count: number) =>
    Array.from({ length: count }, (_, n) => ({
      ...{ type: 'mcp_approval_response', approval_request_id: `mcpr_${n}`, approve: true },
    }))
  const asking = (input: readonly object[], more: object = {}) =>
    responses(JSON.stringify({ model: 'gpt-5', input, ...more }))

  it('that a long conversation repeats count as one action, and each of them is decided', async () => {
    const world = await start(ANSWERING)
    expect((await world.send(asking([...answers(40), ...answers(40)]))).reply.status).toBe(200)
    expect(world.records).toMatchObject([{ decision: 'ALLOW', action_count: 41 }])
    const strict = await start({
      ...ANSWERING,
      policies: [
        {
          document: {
            scope: { actions: ['llm_a.hosted_approval.answer'] },
            rules: [{ name: 'last', conditions: ['resource.target == "mcpr_39"'], decision: 'deny' }],
          },
        },
      ],
    })
    expect((await strict.send(asking(answers(40)))).reply.status).toBe(403)
    expectRefused(strict)
  })

  it('hide no other action in the record, and none beyond the limits', async () => {
    const world = await start(ANSWERING)
    const tools = [{ type: 'code_interpreter' }]
    expect((await world.send(asking(answers(100), { tools, background: true }))).reply.status).toBe(200)
    const types = world.records[0]?.action_details?.map(({ type }) => type)
    expect(types?.slice(0, 3)).toEqual([
      'llm_a.response.create',
      'llm_a.hosted_agent.run',
      'llm_a.provider_tool.code',
    ])
    expect(types).toHaveLength(64)
    const more = [...tools, { type: 'computer' }, { type: 'file_search' }]
    const over = await world.send(asking(answers(1), { tools: more, background: true }))
    expect([over.reply.status, over.reply.text()]).toEqual([413, expect.stringContaining('6 actions')])
    expect((await world.send(asking(answers(257)))).reply.status).toBe(413)
  })

  it('without an id count each, beside those with one', async () => {
    const world = await start(ANSWERING)
    const unnamed = { type: 'mcp_approval_response', approve: true }
    expect((await world.send(asking([unnamed, unnamed, ...answers(2)]))).reply.status).toBe(200)
    expect(world.records[0]?.action_details).toEqual([
      { type: 'llm_a.response.create', target: 'gpt-5', effect: 'compute' },
      ...[null, 'mcpr_0', 'mcpr_1'].map((target) => ({
        ...{ type: 'llm_a.hosted_approval.answer', target, effect: 'write', effects: ['delegate'] },
      })),
    ])
  })
})

describe('tools that the agent runs itself', () => {
  const declared = { name: 'f', parameters: { type: 'object', properties: { tools: { type: 'array' } } } }
  const ofB = { name: 'f', input_schema: { type: 'object', properties: { type: { type: 'string' } } } }
  const rows = [
    [
      'llm_a',
      '/v1/responses',
      {
        input: 'x',
        tools: [
          { type: 'function', ...declared },
          { type: 'custom', name: 'c' },
        ],
      },
      2,
    ],
    [
      'llm_a',
      '/v1/responses',
      {
        input: 'x',
        tools: [
          { type: 'namespace', name: 'n', tools: [{ type: 'function', ...declared }] },
          { type: 'image_generation' },
        ],
      },
      1,
    ],
    ['llm_a', '/v1/chat/completions', { messages: [], tools: [{ type: 'function', function: declared }] }, 1],
    ['llm_a', '/v1/chat/completions', { messages: [], functions: [declared, declared] }, 2],
    ['llm_a', '/v1/responses', { input: 'x' }, null],
    [
      'llm_b',
      '/v1/messages',
      {
        max_tokens: 1,
        messages: [],
        tools: [
          ofB,
          { type: 'custom', ...ofB },
          { type: 'bash_20250124', name: 'bash' },
          { type: 'advisor_20260301' },
        ],
      },
      3,
    ],
    ['llm_b', '/v1/messages', { max_tokens: 1, messages: [], tools: [] }, null],
    [
      'llm_c',
      '/v1beta/models/g:generateContent',
      {
        contents: [],
        tools: [{ functionDeclarations: [declared, declared] }, { function_declarations: [declared] }],
      },
      3,
    ],
    [
      'llm_c',
      '/v1beta/interactions',
      { model: 'g', input: 'x', tools: [{ type: 'function', ...declared }] },
      1,
    ],
  ] as const
  it.each(rows)(
    'are no actions, and the record has their number: %s %s %j',
    async (connector, target, fields, count) => {
      const world = await start(STARTER)
      const body = JSON.stringify({ ...(connector === 'llm_c' ? {} : { model: 'm' }), ...fields })
      const { reply } = await world.send({ ...responses(body), host: USUAL_HOST[connector], target })
      expect(reply.status).toBe(200)
      const [record] = world.records
      expect(record?.decision).toBe('ALLOW')
      expect(record?.actions ?? null).toBeNull()
      expect(record?.function_tools ?? null).toBe(count)
    },
  )
})

const MIB = 1024 * 1024
const LOOT = '"tools":[{"type":"mcp","server_label":"x","server_url":"https://attacker.example/mcp"}]'
const PLAIN: Rules = { connectors: [{ type: 'llm_a', name: 'openai' }], permissions: [['llm_a.*', 'allow']] }
const responses = (body: string, headers: readonly string[] = JSON_BODY): TestExchangeInput => ({
  ...{ method: 'POST', host: 'api.openai.com', target: '/v1/responses', headers, body },
})

describe('a tool of the provider', () => {
  it('is found behind 30 MiB of text', async () => {
    const world = await start(PLAIN)
    const { reply } = await world.send(responses(`{"model":"m","input":"${'x'.repeat(30 * MIB)}",${LOOT}}`))
    expect(reply.status).toBe(403)
    expect(JSON.stringify(reply.json())).toContain('attacker.example')
    expect(world.records).toMatchObject([{ decision: 'DENY', action_type: 'llm_a.provider_tool.mcp' }])
    expectRefused(world)
  })

  it.each([
    ['plain text', ['Content-Type', 'text/plain']],
    ['no label', []],
    ['gzip', [...JSON_BODY, 'Content-Encoding', 'gzip']],
  ])('is not hidden by another label of the body: %s', async (_what, headers) => {
    const world = await start(PLAIN)
    expect((await world.send(responses(`{"model":"m",${LOOT}}`, headers))).reply.status).toBe(415)
    expectRefused(world)
  })

  it('passes where the Connector lists it, the host is allowed and rules permit it', async () => {
    const world = await start({
      ...PLAIN,
      connectors: [{ type: 'llm_a', name: 'openai', providerTools: { allow: ['provider_tool.mcp'] } }],
      gateway: { egress: { allowedHosts: ['attacker.example'] } },
    })
    expect((await world.send(responses(`{"model":"m",${LOOT}}`))).reply.status).toBe(200)
    expect(world.records[0]?.actions).toEqual(['llm_a.response.create', 'llm_a.provider_tool.mcp'])
  })

  it('is decided by rules of its own, with its target', async () => {
    const document = {
      scope: { actions: ['llm_a.provider_tool.*'] },
      rules: [{ name: 'foreign', conditions: ['resource.target == "attacker.example"'], decision: 'deny' }],
    }
    const world = await start({
      ...PLAIN,
      connectors: [{ type: 'llm_a', name: 'openai', providerTools: { allow: ['provider_tool.mcp'] } }],
      gateway: { egress: { allowedHosts: ['attacker.example', 'other.example'] } },
      policies: [{ name: 'servers', document }],
    })
    expect((await world.send(responses(`{"model":"m",${LOOT}}`))).reply.status).toBe(403)
    const other = LOOT.replace('attacker', 'other')
    expect((await world.send(responses(`{"model":"m",${other}}`))).reply.status).toBe(200)
  })

  it('writes: an access rule for reading alone does not let it through, nor a partition', async () => {
    const rules = {
      ...PLAIN,
      permissions: [
        ['llm_a.response.*', 'allow'],
        ['llm_a.*', 'deny'],
      ],
    } as const
    const body = '{"model":"m","tools":[{"type":"code_interpreter"}]}'
    const readOnly = await start(rules)
    expect((await readOnly.send(responses(body))).reply.status).toBe(403)
    expect((await readOnly.send(responses('{"model":"m"}'))).reply.status).toBe(200)
    const partitioned = await start(PLAIN)
    partitioned.state.lease = 'writes'
    expect((await partitioned.send(responses(body))).reply.status).toBe(503)
    expect((await partitioned.send(responses('{"model":"m"}'))).reply.status).toBe(200)
  })
})
