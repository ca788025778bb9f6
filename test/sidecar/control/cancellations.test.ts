import { afterEach, describe, expect, it } from 'vitest'
import { SECRET } from '../pipeline/test-world.ts'
import { asked, BACKGROUND, endWorlds, json, type Row, RULES, SCHEDULED, start } from './hosted-work-world.ts'

afterEach(endWorlds)

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
  [
    'files that a vector store reads',
    { at: 'a', path: '/v1/vector_stores/vs_1/file_batches', body: { file_ids: [] } },
    json({ id: 'vsfb_1', vector_store_id: 'vs_1', status: 'in_progress' }),
    'POST /v1/vector_stores/vs_1/file_batches/vsfb_1/cancel',
  ],
  [
    'the tuning of a model',
    { at: 'c', path: '/v1beta/tunedModels', body: { baseModel: 'models/m' } },
    json({ name: 'tunedModels/t1/operations/op1', metadata: { tunedModel: 'tunedModels/t1' } }),
    'POST /v1beta/tunedModels/t1/operations/op1:cancel',
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
    expect(results[0]?.detail).toContain(
      'no longer belongs to the connector through which the work was started',
    )
    expect(world.upstream.seen).toHaveLength(1)
    expect(world.records.at(-1)).toMatchObject({ transport: 'system', decision: 'DENY', act_id: null })
  })
})
