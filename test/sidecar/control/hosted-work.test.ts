import { afterEach, describe, expect, it } from 'vitest'
import { createHostedWork } from '../../../sidecar/control/hosted-work/hosted-work.ts'
import { eventually } from '../../support/eventually.ts'
import type { Answer } from '../../support/recorder.ts'
import { testExchange } from '../pipeline/test-exchange.ts'
import {
  type Ask,
  asked,
  BACKGROUND,
  endWorlds,
  events,
  json,
  MODEL,
  RULES,
  SCHEDULED,
  start,
} from './hosted-work-world.ts'

afterEach(endWorlds)

describe('work that ended is not cancelled', () => {
  const ENDED: ReadonlyArray<readonly [what: string, request: Ask, answer: Answer, isEnded: boolean]> = [
    ['a plain response', { ...BACKGROUND, body: MODEL }, json({ id: 'resp_1' }), true],
    [
      'cancelled by the agent',
      { at: 'a', path: '/v1/responses/resp_1/cancel' },
      json({ id: 'resp_1' }),
      true,
    ],
    ['deleted', { at: 'a', method: 'DELETE', path: '/v1/responses/resp_1' }, json({}), true],
    ['a cancellation that failed', { at: 'a', path: '/v1/responses/resp_1/cancel' }, json({}, 500), false],
    [
      'read as completed',
      { at: 'a', method: 'GET', path: '/v1/responses/resp_1' },
      json({ status: 'completed' }),
      true,
    ],
    [
      'read as running',
      { at: 'a', method: 'GET', path: '/v1/responses/resp_1' },
      json({ status: 'queued' }),
      false,
    ],
    ['another one', { at: 'a', path: '/v1/responses/resp_2/cancel' }, json({}), false],
  ]

  it.each(ENDED)('%s', async (what, request, answer, isEnded) => {
    const { world } = await start()
    if (what !== 'a plain response') {
      world.upstream.answerWith(json({ id: 'resp_1' }))
      await world.send(asked('a', BACKGROUND))
      expect(world.hostedWork.size).toBe(1)
    }
    world.upstream.answerWith(answer)
    await world.send(asked('a', request))
    expect(world.hostedWork.size).toBe(isEnded ? 0 : 1)
  })

  it('a stream of events ended, and is known while it is open', async () => {
    const { world } = await start()
    const streamed = { ...BACKGROUND, body: { ...MODEL, background: true, stream: true } }
    world.upstream.answerWith(events({ type: 'response.created', response: { id: 'resp_1' } }, false))
    await world.send(asked('a', streamed))
    expect(world.hostedWork.size).toBe(0)
    const exchange = testExchange(asked('a', streamed))
    world.upstream.answerWith(events({ type: 'response.created', response: { id: 'resp_2' } }, true))
    const done = world.run(exchange)
    await eventually('the response is known', () => (world.hostedWork.size === 1 ? true : null))
    exchange.abort.abort(new Error('the agent disconnected'))
    await done
    expect([...world.hostedWork.all()].map(({ work }) => work.ids)).toEqual([{ id: 'resp_2' }])
  })

  it('a scheduled message whose removal a rule reads; it stays known when the answer 200 refuses', async () => {
    const conditions = ['parameters.scheduled_message_id == "Q9"']
    const rule = { name: 'r', conditions, decision: 'deny' }
    const policies = [{ document: { scope: { actions: ['chat.message.unschedule'] }, rules: [rule] } }]
    const { world } = await start({ rules: { ...RULES, policies } })
    world.upstream.answerWith(json({ ok: true, scheduled_message_id: 'Q1', channel: 'C1' }))
    await world.send(asked('a', SCHEDULED[1]))
    const removal: Ask = {
      ...{ at: 'chat', path: '/api/chat.deleteScheduledMessage' },
      body: { channel: 'C2', scheduled_message_id: 'Q1' },
    }
    world.upstream.answerWith(json({ ok: false, error: 'channel_not_found' }))
    await world.send(asked('a', removal))
    expect(world.hostedWork.size).toBe(1)
    world.upstream.answerWith(json({ ok: true }))
    await world.send(asked('a', removal))
    expect(world.hostedWork.size).toBe(0)
  })
})

describe('the registry keeps a limited number', () => {
  it('of an agent and in all, and counts what it discarded', async () => {
    const { world } = await start()
    const work = createHostedWork({ ofAgent: 2, all: 3 })
    const { snapshot } = world.state
    const agents = [...(snapshot?.agentsByName.values() ?? [])]
    const bound = [...(snapshot?.hosts.exact.values() ?? [])].flat()[0]?.bound
    const [a, b] = agents
    if (a === undefined || b === undefined || bound === undefined) throw new Error('no agents')
    const started = (agent: typeof a, id: string) =>
      work.started(bound, agent, {
        kind: { kind: 'response', cancel: null, isBatch: false },
        ...{ ids: { id }, headers: [], errorMember: null },
        at: { scheme: 'https', host: 'h', port: 443, segments: [], rawTarget: '/' },
      })
    for (const id of ['1', '2', '3']) started(a, id)
    expect([...work.all()].map((known) => known.work.ids['id'])).toEqual(['2', '3'])
    expect(work.dropped).toBe(1)
    started(b, '4')
    started(b, '5')
    expect([...work.all()].map((known) => known.work.ids['id'])).toEqual(['3', '4', '5'])
    expect(work.dropped).toBe(2)
  })
})
