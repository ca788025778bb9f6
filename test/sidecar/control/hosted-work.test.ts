import { afterEach, describe, expect, it } from 'vitest'
import type { WorkKind } from '../../../core/connectors/hosted-work/table.ts'
import type { HostedWorkReport } from '../../../core/wire/gateway/hosted-work.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import { createCancelSender } from '../../../sidecar/control/hosted-work/cancel-exchange.ts'
import {
  type Cancellations,
  createCancellations,
} from '../../../sidecar/control/hosted-work/cancellations.ts'
import { createHostedWork } from '../../../sidecar/control/hosted-work/hosted-work.ts'
import { eventually } from '../../support/eventually.ts'
import type { Answer } from '../../support/recorder.ts'
import { JSON_BODY } from '../pipeline/pipeline-world.ts'
import { testExchange } from '../pipeline/test-exchange.ts'
import { type Rules, SECRET, startWorld, type World } from '../pipeline/test-world.ts'

type Stopping = {
  readonly world: World
  readonly cancellations: Cancellations
  stop(entry?: Partial<KillEntry>): void
  settled(): Promise<HostedWorkReport>
}

const open: World[] = []
afterEach(async () => {
  for (const world of open.splice(0)) await world[Symbol.asyncDispose]()
})

const RULES: Rules = {
  agents: [
    { id: 'agent_a', name: 'a' },
    { id: 'agent_b', name: 'b' },
  ],
  connectors: [
    { type: 'llm_a', name: 'openai' },
    { type: 'llm_b', name: 'anthropic' },
    { type: 'llm_c', name: 'gemini' },
    { type: 'chat', name: 'slack' },
  ],
  permissions: ['llm_a.*', 'llm_b.*', 'llm_c.*', 'chat.*'].map((name) => [name, 'allow'] as const),
}

async function start({ mayCancelBatches = false, rules = RULES } = {}): Promise<Stopping> {
  const world = await startWorld(rules)
  open.push(world)
  const cancellations = createCancellations({
    work: world.hostedWork,
    match: world.ports.kill.match,
    mayCancelBatches: () => mayCancelBatches,
    send: createCancelSender({ ports: world.ports, handle: world.run }),
    clock: world.ports.clock,
    onChange: () => undefined,
    pauseMs: () => 1,
  })
  return {
    ...{ world, cancellations },
    stop(entry = {}) {
      const stop = { scope: 'all', source: 'api', reason: 'x', since: '2026-01-01T00:00:00.000Z', ...entry }
      world.state.kill = [stop]
      cancellations.begin()
    },
    settled: () =>
      eventually('every cancellation has a result', () => {
        const report = cancellations.report()
        return report.pending === 0 ? report : null
      }),
  }
}

const json =
  (value: object, status = 200): Answer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(value))
  }

const events =
  (value: object, isOpen: boolean): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(`event: x\ndata: ${JSON.stringify(value)}\n\n`)
    if (!isOpen) response.end('data: [DONE]\n\n')
  }

const HOSTS = {
  a: 'api.openai.com',
  b: 'api.anthropic.com',
  c: 'generativelanguage.googleapis.com',
  chat: 'slack.com',
}

type Ask = {
  readonly at: keyof typeof HOSTS
  readonly method?: string
  readonly path: string
  readonly body?: object
  readonly headers?: readonly string[]
}

function asked(agent: string, { at, method = 'POST', path, body, headers = [] }: Ask) {
  return {
    ...{ method, host: HOSTS[at], target: path, credentials: { kind: 'port', agent } as const },
    headers: body === undefined ? headers : [...JSON_BODY, ...headers],
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
}

const MODEL = { model: 'm', input: 'x' }
const BACKGROUND: Ask = { at: 'a', path: '/v1/responses', body: { ...MODEL, background: true } }

type Row = readonly [what: string, request: Ask, answer: Answer, cancel: string, body?: object]

const SCHEDULED: Row = [
  'a scheduled message',
  { at: 'chat', path: '/api/chat.scheduleMessage', body: { channel: 'C1', text: 'x', post_at: 1 } },
  json({ ok: true, scheduled_message_id: 'Q1', channel: 'C1', post_at: 1 }),
  'POST /api/chat.deleteScheduledMessage',
  { channel: 'C1', scheduled_message_id: 'Q1' },
]

const CANCELLED: readonly Row[] = [
  [
    'a background response',
    BACKGROUND,
    json({ object: 'response', status: 'queued', id: 'resp_1' }),
    'POST /v1/responses/resp_1/cancel',
  ],
  [
    'a run of a thread',
    { at: 'a', path: '/v1/threads/thread_1/runs', body: { assistant_id: 'asst_1' } },
    json({ id: 'run_1', thread_id: 'thread_1', status: 'queued' }),
    'POST /v1/threads/thread_1/runs/run_1/cancel',
  ],
  [
    'a run with its thread',
    { at: 'a', path: '/v1/threads/runs', body: { assistant_id: 'asst_1' } },
    json({ id: 'run_2', thread_id: 'thread_2', status: 'queued' }),
    'POST /v1/threads/thread_2/runs/run_2/cancel',
  ],
  [
    'a session of the chat kit',
    { at: 'a', path: '/v1/chatkit/sessions', body: { user: 'u', workflow: { id: 'wf_1' } } },
    json({ id: 'cksess_1' }),
    'POST /v1/chatkit/sessions/cksess_1/cancel',
  ],
  [
    'an automation',
    { at: 'a', path: '/v1/agents/automations', body: {} },
    json({ id: 'auto_1' }),
    'POST /v1/agents/automations/auto_1/pause',
  ],
  [
    'a session of a hosted agent',
    { at: 'a', path: '/v1/agents/sessions', body: {} },
    json({ id: 'sess_1' }),
    'POST /v1/agents/sessions/sess_1/events',
    { events: [{ type: 'agent.session.input.cancel' }] },
  ],
  [
    'a session that got an event',
    { at: 'a', path: '/v1/agents/sessions/sess_2/events', body: { events: [] } },
    json({}),
    'POST /v1/agents/sessions/sess_2/events',
    { events: [{ type: 'agent.session.input.cancel' }] },
  ],
  [
    'a trigger',
    { at: 'c', path: '/v1beta/triggers', body: { schedule: '* * * * *', interaction: {} } },
    json({ id: 'trig_1' }),
    'PATCH /v1beta/triggers/trig_1',
    { status: 'paused' },
  ],
  [
    'a live session',
    { at: 'a', path: '/v1/live/sessions', body: { session: { model: 'm' }, transport: { sdp: 'x' } } },
    json({ session: { id: 'live_1' }, transport: { type: 'webrtc', sdp: 'y' } }),
    'POST /v1/live/sessions/live_1/hangup',
  ],
  [
    'a live session that was accepted',
    { at: 'a', path: '/v1/live/sessions/live_2/accept', body: { session: { model: 'm' } } },
    json({}),
    'POST /v1/live/sessions/live_2/hangup',
  ],
  [
    'a call that was accepted',
    { at: 'a', path: '/v1/realtime/calls/rtc_1/accept', body: { type: 'realtime' } },
    (_request, response) => response.writeHead(200).end(),
    'POST /v1/realtime/calls/rtc_1/hangup',
  ],
  [
    'a run of an evaluation',
    { at: 'a', path: '/v1/evals/eval_1/runs', body: { data_source: { type: 'jsonl' } } },
    json({ id: 'evalrun_1', eval_id: 'eval_1', status: 'queued' }),
    'POST /v1/evals/eval_1/runs/evalrun_1/cancel',
  ],
  [
    'a fine-tuning job',
    { at: 'a', path: '/v1/fine_tuning/jobs', body: { model: 'm', training_file: 'file_1' } },
    json({ id: 'ftjob_1', status: 'queued' }),
    'POST /v1/fine_tuning/jobs/ftjob_1/cancel',
  ],
  [
    'a fine-tuning job that was resumed',
    { at: 'a', path: '/v1/fine_tuning/jobs/ftjob_2/resume' },
    json({ id: 'ftjob_2', status: 'running' }),
    'POST /v1/fine_tuning/jobs/ftjob_2/cancel',
  ],
  [
    'a session of a managed agent',
    {
      at: 'b',
      path: '/v1/sessions',
      body: { agent: 'agent_1', environment_id: 'env_1' },
      headers: ['anthropic-version', '2023-06-01', 'anthropic-beta', 'managed-agents'],
    },
    json({ id: 'sesn_1', status: 'running' }),
    'POST /v1/sessions/sesn_1/events',
    { events: [{ type: 'user.interrupt' }] },
  ],
  [
    'a deployment',
    { at: 'b', path: '/v1/deployments', body: {} },
    json({ id: 'depl_1' }),
    'POST /v1/deployments/depl_1/pause',
  ],
  [
    'an interaction in the background',
    { at: 'c', path: '/v1beta/interactions', body: { model: 'm', input: 'x', background: true } },
    json({ id: 'int_1', status: 'in_progress' }),
    'POST /v1beta/interactions/int_1/cancel',
  ],
  SCHEDULED,
]

it('hangs up a call whose id only the header Location of the answer has', async () => {
  const { world, stop, settled } = await start()
  world.upstream.answerWith((_request, response) => {
    const headers = { 'content-type': 'application/sdp', location: '/v1/realtime/calls/rtc_2' }
    response.writeHead(201, headers).end('v=0\r\n')
  })
  const call = asked('a', { at: 'a', path: '/v1/realtime/calls' })
  await world.send({ ...call, headers: ['Content-Type', 'application/sdp'], body: 'v=0\r\n' })
  world.upstream.answerWith(json({}))
  stop()
  expect((await settled()).results).toMatchObject([
    { kind: 'realtime_call', id: 'rtc_2', outcome: 'cancelled' },
  ])
  expect(world.upstream.seen.at(-1)?.target).toBe('/v1/realtime/calls/rtc_2/hangup')
})

describe('a kill switch cancels what stopped agents started at providers', () => {
  it.each(CANCELLED.map((row) => ({ what: row[0], row })))('$what', async ({ row }) => {
    const [, request, answer, cancel, body] = row
    const { world, stop, settled } = await start()
    world.upstream.answerWith(answer)
    expect((await world.send(asked('a', request))).reply.status).toBe(200)
    world.upstream.answerWith(json({ ok: true }))
    stop()
    const report = await settled()
    expect(report.results).toMatchObject([{ agent: 'a', outcome: 'cancelled', status: 200, scope: 'all' }])
    const sent = world.upstream.seen.at(-1)
    expect(`${sent?.method} ${sent?.target}`).toBe(cancel)
    if (body !== undefined) expect(JSON.parse(sent?.body.toString() ?? '')).toEqual(body)
    for (let at = 0; at < (request.headers?.length ?? 0); at += 2)
      expect(sent?.header(request.headers?.[at] ?? '')).toBe(request.headers?.[at + 1])
    expect(JSON.stringify(sent?.rawHeaders)).toContain(SECRET)
    expect(world.hostedWork.size).toBe(0)
    expect(world.live.size).toBe(0)
  })

  it('with a record of transport system, by the name of the operation, while the agent itself is refused', async () => {
    const { world, stop, settled } = await start()
    world.upstream.answerWith(json({ id: 'resp_1' }))
    await world.send(asked('a', BACKGROUND))
    stop({ scope: 'agent:a' })
    const { results } = await settled()
    const record = world.records.at(-1)
    expect(record).toMatchObject({
      ...{ agent: 'a', action_type: 'llm_a.response.cancel', decision: 'ALLOW', transport: 'system' },
      ...{ note: 'system', status: 200, path: '/v1/responses/resp_1/cancel', act_id: null },
    })
    expect(record?.reason).toBe(
      'Kill switch "agent:a" cancels the work that the agent started at the provider.',
    )
    expect(world.intents.at(-1)?.transport).toBe('system')
    expect(results[0]?.request_id).toMatch(/^req_/)
    expect((await world.send(asked('a', BACKGROUND))).reply.status).toBe(403)
  })

  it('of agents in its scope alone', async () => {
    const { world, cancellations, stop, settled } = await start()
    for (const agent of ['a', 'b']) {
      world.upstream.answerWith(json({ id: `resp_${agent}` }))
      await world.send(asked(agent, BACKGROUND))
    }
    stop({ scope: 'agent:b' })
    expect(cancellations.report().pending).toBe(1)
    expect((await settled()).results).toMatchObject([{ agent: 'b', id: 'resp_b', outcome: 'cancelled' }])
    expect(world.hostedWork.size).toBe(1)
  })

  it('although the agent is suspended, or gone from the configuration', async () => {
    const { world, stop, settled } = await start()
    world.upstream.answerWith(json({ id: 'resp_1' }))
    await world.send(asked('a', BACKGROUND))
    world.apply({ ...RULES, agents: [{ id: 'agent_b', name: 'b' }] })
    stop()
    expect((await settled()).results).toMatchObject([{ outcome: 'cancelled', status: 200 }])
  })

  it('by no request to a host that another connector owns by now, and says so', async () => {
    const { world, stop, settled } = await start()
    world.upstream.answerWith(json({ id: 'resp_1' }))
    await world.send(asked('a', BACKGROUND))
    world.apply({ ...RULES, connectors: [{ id: 'other', type: 'llm_a', name: 'other' }] })
    stop()
    const { results } = await settled()
    expect(results).toMatchObject([{ outcome: 'failed', status: null }])
    expect(results[0]?.detail).toContain('does not belong to the connector that started the work')
    expect(world.upstream.seen).toHaveLength(1)
    expect(world.records.at(-1)).toMatchObject({ transport: 'system', decision: 'DENY', act_id: null })
  })
})

describe('what cannot be cancelled is listed', () => {
  it('batches where the Gateway does not say killSwitch.cancelBatches, and they are cancelled where it does', async () => {
    for (const mayCancelBatches of [false, true]) {
      const { world, stop, settled } = await start({ mayCancelBatches })
      world.upstream.answerWith(json({ id: 'batch_1' }))
      await world.send(
        asked('a', { at: 'a', path: '/v1/batches', body: { input_file_id: 'f', endpoint: '/v1/responses' } }),
      )
      stop()
      const { results } = await settled()
      expect(results).toMatchObject([{ kind: 'batch', outcome: mayCancelBatches ? 'cancelled' : 'left' }])
      expect(world.upstream.seen).toHaveLength(mayCancelBatches ? 2 : 1)
      if (mayCancelBatches) expect(world.upstream.seen.at(-1)?.target).toBe('/v1/batches/batch_1/cancel')
    }
  })

  it('a session without an operation that stops it', async () => {
    const { world, stop, settled } = await start()
    const endless: WorkKind = { kind: 'endless_session', cancel: null, isBatch: false }
    const at = { scheme: 'https', host: HOSTS.a, port: 443, segments: ['v1'] } as const
    const work = { kind: endless, ids: { id: 'sess_1' }, at, headers: [], errorMember: null }
    const bound = { entry: { id: 'conn_1', name: 'openai' }, connector: { name: 'llm_a' } }
    world.hostedWork.started(bound as never, { id: 'agent_a', name: 'a' } as never, work)
    stop()
    expect((await settled()).results).toMatchObject([
      { kind: 'endless_session', outcome: 'left', status: null },
    ])
    expect(world.upstream.seen).toEqual([])
  })

  it('what the provider refuses, once; what fails there is tried again', async () => {
    const { world, stop, settled } = await start()
    world.upstream.answerWith(json({ id: 'resp_1' }))
    await world.send(asked('a', BACKGROUND))
    let attempts = 0
    world.upstream.answerWith((request, response, seen) => {
      attempts += 1
      return json({}, attempts < 3 ? 503 : 409)(request, response, seen)
    })
    stop()
    expect((await settled()).results).toMatchObject([
      {
        outcome: 'failed',
        status: 409,
        detail: 'The provider answered 409. The work may have ended already.',
      },
    ])
    expect(attempts).toBe(3)
  })

  it('an answer 200 of the chat that says no', async () => {
    const { world, stop, settled } = await start()
    world.upstream.answerWith(json({ ok: true, scheduled_message_id: 'Q1', channel: 'C1' }))
    await world.send(asked('a', SCHEDULED[1]))
    world.upstream.answerWith(json({ ok: false, error: 'invalid_scheduled_message_id' }))
    stop()
    const { results } = await settled()
    expect(results).toMatchObject([
      { outcome: 'failed', detail: 'The provider answered: invalid_scheduled_message_id.' },
    ])
  })

  it('the number of requests whose answer told no id', async () => {
    const { world, cancellations } = await start()
    world.upstream.answerWith(json({ no: 'id' }))
    await world.send(asked('a', BACKGROUND))
    world.upstream.answerWith(json({ error: 'bad' }, 400))
    await world.send(asked('a', BACKGROUND))
    expect(cancellations.report().unidentified).toBe(1)
    const exchange = testExchange(asked('a', BACKGROUND))
    world.upstream.answerWith(() => exchange.abort.abort(new Error('left')))
    await world.run(exchange)
    expect(cancellations.report().unidentified).toBe(2)
  })

  it('nothing of what was lifted', async () => {
    const { world, cancellations, stop, settled } = await start()
    world.upstream.answerWith(json({ id: 'resp_1' }))
    await world.send(asked('a', BACKGROUND))
    stop()
    await settled()
    world.state.kill = []
    expect(cancellations.report()).toMatchObject({ pending: 0, results: [] })
  })
})

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
        at: { scheme: 'https', host: 'h', port: 443, segments: [] },
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
