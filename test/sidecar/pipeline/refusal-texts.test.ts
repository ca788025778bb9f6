import { describe, expect, test } from 'vitest'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import { expectRefused, JSON_BODY, MERGE, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rule, Rules } from './test-world.ts'

const ADVICE = 'Do not retry; ask the owner of this agent.'
const ID = /^\((rec|req|apv)_[0-9a-zA-Z]+\)$/

const FROM_A_MANIFEST = { manifest: 'dev-rules', source: 'file', managed_by: '20.yaml' } as const
const NO_MERGES = { name: 'no-merges', conditions: [], decision: 'deny', reason: 'The release is frozen' }

const REASONS: ReadonlyArray<readonly [string, Rules, string]> = [
  [
    'a permission of a manifest',
    { permissions: [['codehost.pr.*', 'deny', '*', { ...FROM_A_MANIFEST, reason: 'People merge' }]] },
    'People merge. Permission "dev-rules", rule "codehost.pr.*", denies codehost.pr.merge.',
  ],
  [
    'a permission of a manifest without a reason',
    { permissions: [['codehost.pr.*', 'deny', '*', FROM_A_MANIFEST]] },
    'Permission "dev-rules", rule "codehost.pr.*", denies codehost.pr.merge.',
  ],
  [
    'a permission of a manifest for agents with a prefix',
    { permissions: [['codehost.pr.*', 'deny', 'build*', FROM_A_MANIFEST]] },
    'Permission "dev-rules", rule "codehost.pr.*" for agents "build*", denies codehost.pr.merge.',
  ],
  [
    'a permission of the API',
    { permissions: [['codehost.pr.*', 'deny', 'builder', { reason: 'Who merges? People!' }]] },
    'Who merges? People! Permission "codehost.pr.*" for agent "builder" denies codehost.pr.merge.',
  ],
  [
    'a policy',
    {
      permissions: [['codehost.*', 'allow']],
      policies: [{ name: 'freeze', document: { rules: [NO_MERGES] } }],
    },
    'The release is frozen. Policy "freeze", rule "no-merges", denies codehost.pr.merge.',
  ],
  [
    'no permission',
    { permissions: [] },
    'No permission matches codehost.pr.merge for agent "builder", so the gateway\'s default denies it.',
  ],
  ['a suspended agent', { agents: [{ status: 'suspended' }] }, 'Agent "builder" is suspended.'],
]

/** The message without the advice and the id that end it. */
function reasonIn(message: unknown): string {
  const [reason, id] = String(message).split(` ${ADVICE} `)
  expect(id).toMatch(ID)
  return reason ?? ''
}

async function refused(rules: Rules, input: TestExchangeInput = MERGE) {
  const world = await start(rules)
  const { reply } = await world.send(input)
  expectRefused(world)
  return { reply, record: world.records[0] }
}

describe('the message of a refusal', () => {
  test.each(REASONS)(
    'by %s begins with the reason and says nothing of how to permit it',
    async (_by, rules, reason) => {
      const { reply } = await refused(rules)
      const body = reply.json()
      expect(reasonIn(body['message'])).toBe(reason)
      expect(body['reason']).toBe(reason)
      expect(String(body['message'])).not.toMatch(/perm_|pol_/)
      expect(JSON.stringify(body)).not.toMatch(
        /to permit|more specific|Add a permission|Change that|An admin can/i,
      )
    },
  )

  test('by a permission of a manifest names the manifest, and explains by ids and the page of the record', async () => {
    const [, rules] = REASONS[0] ?? []
    const { reply, record } = await refused(rules ?? {})
    const body = reply.json()
    expect(body['message']).toContain('Permission "dev-rules"')
    expect(body['explain']).toBe(`${body['matched_permission']}, dashboard /#/traffic?record=${record?.id}`)
    expect(JSON.stringify(body).length).toBeLessThan(800)
  })

  test('names the id of the record', async () => {
    const { reply, record } = await refused({ permissions: [] })
    expect(reply.json()['message']).toContain(`(${record?.id})`)
  })

  test.each([
    ['Not during the freeze', 'denied', 'Not during the freeze. An approver denied this request.'],
    ['Why?', 'denied', 'Why? An approver denied this request.'],
    [null, 'denied', 'An approver denied this request.'],
    ['   ', 'denied', 'An approver denied this request.'],
    ['incident 7', 'cancelled', 'incident 7. The approval was cancelled.'],
  ] as const)('after an answer with the note %j (%s) begins with the note', async (note, kind, reason) => {
    const world = await start({ permissions: [['codehost.*', 'require_approval']] })
    world.state.onHold = async () => ({ kind, approvalId: 'apv_7', note })
    const { reply } = await world.send(MERGE)
    expect(world.upstream.seen).toEqual([])
    expect(world.records).toHaveLength(1)
    expect(reply.json()['message']).toBe(`${reason} ${ADVICE} (apv_7)`)
  })

  test('that a client should retry does not advise against a retry', async () => {
    const world = await start({ permissions: [['codehost.*', 'require_approval']] })
    const { reply } = await world.send(MERGE)
    expect(reply.json()['message']).toBe(
      'The approval expired without an answer. Send the request again to request a new approval. (apv_1)',
    )
    world.state.rate = { ok: false, retryAfterS: 7 }
    expect((await world.send(MERGE)).reply.json()['message']).not.toContain(ADVICE)
  })
})

type Shaped = { readonly error: { readonly message: string } }

const CHAT = { method: 'POST', target: '/v1/messages', headers: JSON_BODY, body: '{"model":"m"}' }

test.each<[ConnectorEntry['type'], string, TestExchangeInput, (body: Shaped) => unknown]>([
  ['llm_a', 'api.openai.com', { ...CHAT, target: '/v1/responses' }, (body) => body.error.message],
  ['llm_b', 'api.anthropic.com', CHAT, (body) => body.error.message],
  [
    'llm_c',
    'generativelanguage.googleapis.com',
    { ...CHAT, target: '/v1beta/models/m:generateContent', body: '{}' },
    (body) => body.error.message,
  ],
  ['payments', 'api.stripe.com', { method: 'POST', target: '/v1/refunds' }, (body) => body.error.message],
  ['chat', 'slack.com', { method: 'POST', target: '/api/chat.postMessage' }, (body) => body.error],
])('in the format of %s begins with the reason of the person too', async (type, host, input, messageIn) => {
  const rule: Rule = [`${type}.*`, 'deny', '*', { ...FROM_A_MANIFEST, reason: 'The month is used up' }]
  const { reply } = await refused(
    { permissions: [rule], connectors: [{ type, domains: [host], errorShape: 'provider' }] },
    { host, ...input },
  )
  expect(reasonIn(messageIn(reply.json() as Shaped))).toMatch(
    new RegExp(`^The month is used up\\. Permission "dev-rules", rule "${type}\\.\\*", denies ${type}\\.`),
  )
})
