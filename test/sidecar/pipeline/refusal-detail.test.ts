import { expect, test } from 'vitest'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { JSON_BODY, MERGE, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import { killAll, type Rules, type World } from './test-world.ts'

const BRIEF = { gateway: { refusalDetail: 'brief' } } as const
const DENIED = { name: 'no-merges', conditions: [], decision: 'deny', reason: 'The release is frozen' }

type Case = {
  readonly by: string
  readonly rules: Rules
  readonly input?: TestExchangeInput
  readonly prepare?: (state: World['state']) => void
}

const CASES: readonly Case[] = [
  { by: 'a permission', rules: { permissions: [['codehost.pr.*', 'deny']] } },
  {
    by: 'a policy',
    rules: {
      permissions: [['codehost.*', 'allow']],
      policies: [{ name: 'freeze', document: { rules: [DENIED] } }],
    },
  },
  { by: 'no permission', rules: { permissions: [] } },
  { by: 'the status of the agent', rules: { agents: [{ status: 'suspended' }] } },
  { by: 'no connector', rules: {}, input: { ...MERGE, host: 'secret.example' } },
  {
    by: 'a kill switch',
    rules: {},
    prepare(state) {
      state.kill = [killAll()]
    },
  },
  {
    by: 'an approver',
    rules: { permissions: [['codehost.pr.*', 'require_approval']] },
    input: { ...MERGE, headers: JSON_BODY, body: '{}' },
    prepare(state) {
      state.onHold = async () => ({ kind: 'denied', approvalId: 'apv_1', note: 'Not before Monday' })
    },
  },
]

test.each(CASES)(
  'with refusalDetail: brief, a refusal by $by names no rule',
  async ({ rules, input, prepare }) => {
    const world = await start({ ...rules, ...BRIEF })
    prepare?.(world.state)
    const { reply } = await world.send(input ?? MERGE)
    expect(world.upstream.seen).toEqual([])
    const [record] = world.records
    const body = reply.json()
    expect(reply.status).toBe(403)
    const names = ['decision', 'error', 'message', 'record_id', 'request_id']
    expect(
      Object.keys(body)
        .filter((name) => name !== 'approval_id')
        .sort(),
    ).toEqual(names)
    expect(body).toMatchObject({ error: 'denied', decision: 'deny' })
    const reference = body['approval_id'] ?? record?.id
    expect(body['message']).toBe(
      `The request was refused. Do not retry; ask the owner of this agent. (${String(reference)})`,
    )
    expect(reply.headers).toContain('denied')
    expect(record?.reason).not.toBe('denied')
    expect(record?.why?.reason ?? record?.reason).toMatch(/\w/)
  },
)

test('a body that is too large to hold is refused without the rule that holds it', async () => {
  const rules: Rules = { permissions: [['codehost.pr.*', 'require_approval']] }
  const body = Buffer.alloc(LIMITS.heldBodyBytes + 1, ' ')
  const sent = async (world: World) => (await world.send({ ...MERGE, headers: JSON_BODY, body })).reply
  const full = await sent(await start(rules))
  expect(full.json()['message']).toContain('(codehost.pr.*)')
  const world = await start({ ...rules, ...BRIEF })
  const brief = await sent(world)
  expect([full.status, brief.status]).toEqual([413, 413])
  expect(brief.json()['message']).toMatch(/^A request that requires approval may have a body of at most /)
  expect(JSON.stringify(brief.json())).not.toContain('codehost.pr')
  const remedy =
    'Send several smaller requests, or ask an administrator for a rule that decides this action without an approval.'
  for (const { json } of [full, brief]) expect(json()['message']).toContain(remedy)
  expect(world.upstream.seen).toEqual([])
})

test('a refusal that says what to change in the request stays whole', async () => {
  const world = await start({ ...BRIEF, permissions: [['codehost.pr.*', 'require_approval']] })
  const { reply } = await world.send({ ...MERGE, headers: JSON_BODY, body: '{"a":1,"a":2}' })
  expect(reply.status).toBe(400)
  expect(String(reply.json()['message'])).not.toContain('The request was refused.')
})
