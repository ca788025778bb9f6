import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { waitFor } from '../../support/wait-for.ts'
import { testExchange } from '../pipeline/test-exchange.ts'
import { startMessages } from './message-world.ts'

const KIB = 1024
const MIB = 1024 * KIB
const ONLY_M1 = {
  document: {
    scope: { actions: ['llm_a.response.*'] },
    rules: [{ name: 'other', decision: 'deny', conditions: ['parameters.model != "m-1"'] }],
  },
}

function create(bytes: number, more: Readonly<Record<string, unknown>> = {}) {
  return { type: 'response.create', input: 'x'.repeat(bytes), model: 'm-1', ...more }
}

/** A message that is held until the function it returns is called. */
async function startHeld(totalBytes: number, waitMs: number) {
  const here = await startMessages(
    { permissions: [['llm_a.*', 'require_approval']] },
    { bodyBudget: { totalBytes, waitMs } },
  )
  const answers: Array<() => void> = []
  here.world.state.onHold = (_hold, signal) =>
    new Promise((resolve) => {
      answers.push(() => resolve({ kind: 'denied', approvalId: 'apv_1', note: null }))
      signal.addEventListener('abort', () => resolve({ kind: 'aborted', approvalId: 'apv_1' }))
    })
  return { ...here, answers }
}

describe('a message of a WebSocket', () => {
  it('is read up to the limit of the provider, and the model behind its text is decided upon', async () => {
    const { world, model, connect } = await startMessages({ policies: [ONLY_M1] })
    const client = await connect()
    const text = JSON.stringify(create(20 * MIB))
    client.socket.send(text)
    await waitFor(() => expect(model.messages).toHaveLength(1))
    expect(model.messages[0] === text).toBe(true)
    client.send(create(20 * MIB, { model: 'other' }))
    await waitFor(() => expect(world.records).toHaveLength(2))
    expect(world.records).toMatchObject([{ decision: 'ALLOW' }, { decision: 'DENY', status: 403 }])
    expect(model.messages).toHaveLength(1)
    client.socket.send('x'.repeat(LIMITS.modelBodyBytes + 1))
    await waitFor(() => expect(client.events.at(-1)).toMatchObject({ type: 'error', status: 413 }))
  })

  it('waits for the memory budget and then receives an error event; a short one passes', async () => {
    const { world, answers, connect } = await startHeld(MIB, 100)
    const [first, second] = [await connect(), await connect()]
    first.send(create(700 * KIB))
    await waitFor(() => expect(world.holds).toHaveLength(1))
    second.send(create(700 * KIB))
    expect(await second.seen(1)).toMatchObject([{ type: 'error', status: 503 }])
    expect(JSON.stringify(second.events)).toContain('BODY_BUDGET_BYTES')
    second.send(create(1))
    await waitFor(() => expect(world.holds).toHaveLength(2))
    for (const answer of answers.splice(0)) answer()
    await first.seen(1)
    await second.seen(2)
    // What the first one took was given back.
    second.send(create(700 * KIB))
    await waitFor(() => expect(world.holds).toHaveLength(3))
  })

  it('passes once memory is available, also in fragments, and before later messages', async () => {
    const { world, answers, connect } = await startHeld(MIB, 60_000)
    const [first, second] = [await connect(), await connect()]
    first.send(create(700 * KIB))
    await waitFor(() => expect(world.holds).toHaveLength(1))
    const text = JSON.stringify(create(600 * KIB, { stream_id: 'long' }))
    second.socket.send(text.slice(0, 300 * KIB), { fin: false })
    second.socket.send(text.slice(300 * KIB), { fin: true })
    second.send(create(1, { stream_id: 'short' }))
    for (const answer of answers.splice(0)) answer()
    await first.seen(1)
    for (const name of ['long', 'short']) {
      await waitFor(() => expect(answers).toHaveLength(1))
      for (const answer of answers.splice(0)) answer()
      await waitFor(() => expect(second.events.at(-1)).toMatchObject({ type: 'error', stream_id: name }))
    }
  })

  it('leaves its share of the budget to requests over HTTP, and takes theirs', async () => {
    const { world, answers, connect } = await startHeld(MIB, 100)
    const client = await connect()
    client.send(create(700 * KIB))
    await waitFor(() => expect(world.holds).toHaveLength(1))
    const body = JSON.stringify({ input: 'x'.repeat(700 * KIB), model: 'm-1' })
    const post = { method: 'POST', target: '/v1/responses', host: 'api.openai.com', body }
    const headers = ['Content-Type', 'application/json']
    const refused = testExchange({ ...post, headers })
    await world.run(refused)
    expect(refused.reply.status).toBe(503)
    client.socket.terminate()
    await waitFor(() => expect(world.live.size).toBe(0))
    const held = testExchange({ ...post, headers })
    const run = world.run(held)
    await waitFor(() => expect(world.holds).toHaveLength(2))
    for (const answer of answers) answer()
    await run
  })

  it('that is cut while it waits for memory, or is incomplete, reserves nothing', async () => {
    const { world, answers, connect } = await startHeld(MIB, 60_000)
    const first = await connect()
    first.send(create(700 * KIB))
    await waitFor(() => expect(world.holds).toHaveLength(1))
    for (let n = 0; n < 5; n++) {
      const other = await connect()
      other.socket.send(JSON.stringify(create(500 * KIB)), { fin: n % 2 === 0 })
      await new Promise((resolve) => setImmediate(resolve))
      other.socket.terminate()
    }
    for (const answer of answers.splice(0)) answer()
    await first.seen(1)
    await waitFor(() => expect(world.live.size).toBe(1))
    first.send(create(900 * KIB))
    await waitFor(() => expect(world.holds).toHaveLength(2))
  })
})
