import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canonicalJson } from '../../../core/action/spec.ts'
import { size } from '../../support/proof.ts'
import { at } from '../routes/start.ts'
import { ALLOWED, RISKY, startWorld, type World } from '../v1/world.ts'

/** An agent may send sixty requests of nearly a megabyte in a minute. */
const LARGE = { number: 7, title: 'small', body: 'x'.repeat(900_000) }
const COUNT = size(12, 30)
const MIB = 1024 * 1024

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.[Symbol.asyncDispose]())

describe('an agent that submits actions of nearly a megabyte', () => {
  test('cannot make a page of the audit log or an export larger than this process can hold', async () => {
    const agent = await world.agent()
    const answers = await Promise.all(
      Array.from({ length: COUNT }, () =>
        agent.call('POST', '/api/v1/actions', { action_spec: { ...ALLOWED, parameters: LARGE } }),
      ),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const page = await agent.call('GET', '/api/v1/audit/events?limit=500')
    // The first is of the agent itself.
    expect(at<unknown[]>(page.body, 'events')).toHaveLength(1 + 2 * COUNT)
    expect(page.text.length).toBeLessThan(COUNT * 50 * 1024)
    const csv = await world.admin('GET', '/api/dashboard/audit-export')
    expect(csv.text.length).toBeLessThan(COUNT * 50 * 1024)
  })

  test('has an event with its short parts, and with size and hash of all parts', async () => {
    const agent = await world.agent()
    const parameters = {
      ...LARGE,
      list: Array(50_000).fill(1),
      pair: `${'y'.repeat(499)}🙂${'z'.repeat(40_000)}`,
    }
    const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: { ...ALLOWED, parameters } })
    const id = at(body, 'action_request_id')
    const [event] = await world.sql<{ details: Record<string, unknown> }>(
      "select details from audit_events where action_request_id = $1 and event_type = 'action.requested'",
      [id],
    )
    const text = canonicalJson(parameters)
    expect(event?.details).toMatchObject({
      action_type: ALLOWED.type,
      parameters_bytes: Buffer.byteLength(text),
      parameters_sha256: createHash('sha256').update(text).digest('hex'),
    })
    const shown = at<Record<string, unknown>>(event?.details, 'parameters')
    expect(shown).toMatchObject({ number: 7, title: 'small' })
    expect(shown['body']).toMatch(/^x{500}… \(900000 characters\)$/)
    expect(shown['list']).toMatch(/^\[1,1,1.*… \(\d+ characters\)$/)
    const whole = await agent.call('GET', `/api/v1/actions/${id}`)
    expect(at(whole.body, 'action_spec', 'parameters')).toEqual(parameters)
  })

  test('has small parts unchanged in the event, without more fields', async () => {
    const agent = await world.agent()
    const parameters = { body: 'x'.repeat(10_000), nested: { list: [1, { a: null }] } }
    const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: { ...ALLOWED, parameters } })
    const [event] = await world.sql<{ details: Record<string, unknown> }>(
      "select details from audit_events where action_request_id = $1 and event_type = 'action.requested'",
      [at(body, 'action_request_id')],
    )
    expect(event?.details['parameters']).toEqual(parameters)
    expect(Object.keys(event?.details ?? {}).sort()).toEqual(
      ['action_type', 'parameters', 'resource', 'risk_hints', 'risk_score'].sort(),
    )
  })

  test('gets as many hints as anybody needs', async () => {
    const agent = await world.agent()
    const hints = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`hint_number_${n}`, true]))
    const answer = await agent.call('POST', '/api/v1/actions', {
      action_spec: { ...ALLOWED, risk_hints: hints },
    })
    expect(answer.status).toBe(200)
    const page = await agent.call('GET', '/api/v1/audit/events')
    expect(page.text.length).toBeLessThan(100_000)
  })

  test('cannot make the inbox larger than a browser can hold, and nothing in it is cut', async () => {
    const agent = await world.agent()
    const send = () => agent.call('POST', '/api/v1/actions', { action_spec: { ...RISKY, parameters: LARGE } })
    const answers = await Promise.all(Array.from({ length: COUNT }, send))
    expect(answers.map(({ body }) => at(body, 'status'))).toEqual(Array(COUNT).fill('pending_approval'))
    const seen = new Set<string>()
    let total = Number.POSITIVE_INFINITY
    for (let offset = 0; offset < total; ) {
      const page = await world.admin('GET', `/api/dashboard/proxy-approvals?limit=500&offset=${offset}`)
      expect(page.text.length).toBeLessThan(9 * MIB)
      const cards = at<{ id: string; parameters: unknown }[]>(page.body, 'approvals')
      expect(cards.length).toBeGreaterThan(0)
      for (const { id, parameters } of cards) {
        expect(parameters).toEqual(LARGE)
        seen.add(id)
      }
      total = at<number>(page.body, 'total')
      offset += cards.length
    }
    expect(seen.size).toBe(COUNT)
    expect(total).toBe(COUNT)
  })
})
