import { expect, it } from 'vitest'
import { asked, events, expectOwned, type Given, give, json, lastRecord, rules } from './handles-world.ts'
import { start } from './pipeline-world.ts'

const CODE = {
  model: 'm',
  max_tokens: 1,
  messages: [],
  tools: [{ type: 'code_execution_20250825', name: 'c' }],
}
const CONTAINER = { id: 'container_1', expires_at: '2026-12-01T00:00:00Z' }

const GIVEN: readonly Given[] = [
  [
    'a container of executed code',
    { at: 'b', path: '/v1/messages', body: CODE },
    json({ id: 'msg_1', type: 'message', container: CONTAINER }),
    [
      { at: 'b', path: '/v1/messages', body: { ...CODE, container: 'container_1' } },
      { at: 'b', path: '/v1/messages', body: { ...CODE, container: { id: 'container_1', skills: [] } } },
      {
        ...{ at: 'b', path: '/v1/messages/batches' },
        body: { requests: [{ custom_id: 'c', params: { ...CODE, container: 'container_1' } }] },
      },
    ],
  ],
  [
    'a container in a stream',
    { at: 'b', path: '/v1/messages', body: { ...CODE, stream: true } },
    events(
      { type: 'message_start', message: { id: 'msg_1', container: null } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn', container: CONTAINER } },
    ),
    [{ at: 'b', path: '/v1/messages', body: { ...CODE, container: 'container_1' } }],
  ],
  [
    'a dream',
    { at: 'b', path: '/v1/dreams', body: { inputs: [] } },
    json({ id: 'drm_1' }),
    [{ at: 'b', path: '/v1/dreams/drm_1/cancel' }],
  ],
  [
    'a video',
    { at: 'a', path: '/v1/videos', body: { model: 'sora', prompt: 'x' } },
    json({ id: 'video_1', object: 'video' }),
    [
      { at: 'a', method: 'GET', path: '/v1/videos/video_1/content' },
      { at: 'a', method: 'DELETE', path: '/v1/videos/video_1' },
      { at: 'a', path: '/v1/videos/video_1/remix', body: { prompt: 'y' } },
      { at: 'a', path: '/v1/videos/edits', body: { prompt: 'y', video: { id: 'video_1' } } },
    ],
  ],
  [
    'a remixed video',
    { at: 'a', path: '/v1/videos/video_0/remix', body: { prompt: 'x' } },
    json({ id: 'video_1', object: 'video', remixed_from_video_id: 'video_0' }),
    [
      {
        at: 'a',
        path: '/v1/videos/extensions',
        body: { prompt: 'y', seconds: '4', video: { id: 'video_1' } },
      },
    ],
  ],
  [
    'a stored chat',
    { at: 'a', path: '/v1/chat/completions', body: { model: 'm', messages: [], store: true } },
    json({ id: 'chatcmpl-1' }),
    [
      { at: 'a', method: 'GET', path: '/v1/chat/completions/chatcmpl-1/messages' },
      { at: 'a', method: 'DELETE', path: '/v1/chat/completions/chatcmpl-1' },
    ],
  ],
  [
    'a stored chat that streams',
    { at: 'a', path: '/v1/chat/completions', body: { model: 'm', messages: [], store: true, stream: true } },
    events({ id: 'chatcmpl-1', choices: [] }),
    [{ at: 'a', method: 'GET', path: '/v1/chat/completions/chatcmpl-1' }],
  ],
  [
    'a fine-tuning job',
    { at: 'a', path: '/v1/fine_tuning/jobs', body: { model: 'm', training_file: 'file_9' } },
    json({ id: 'ftjob-1' }),
    [{ at: 'a', path: '/v1/fine_tuning/jobs/ftjob-1/cancel' }],
  ],
  [
    'an evaluation',
    { at: 'a', path: '/v1/evals', body: { data_source_config: { type: 'custom' } } },
    json({ id: 'eval_1' }),
    [{ at: 'a', method: 'GET', path: '/v1/evals/eval_1/runs' }],
  ],
  [
    'an automation',
    { at: 'a', path: '/v1/agents/automations', body: {} },
    json({ id: 'auto_1' }),
    [{ at: 'a', path: '/v1/agents/automations/auto_1/invocations', body: {} }],
  ],
  [
    'a session of an automation',
    { at: 'a', path: '/v1/agents/automations/auto_0/invocations', body: {} },
    json({ id: 'inv_1', session_id: 'sess_1' }),
    [{ at: 'a', method: 'GET', path: '/v1/agents/sessions/sess_1/items' }],
  ],
  [
    'a call, in a field of the header',
    { at: 'a', path: '/v1/realtime/calls', body: { sdp: 'v=0' } },
    json({}, { location: '/v1/realtime/calls/rtc_1' }),
    [{ at: 'a', path: '/v1/realtime/calls/rtc_1/hangup' }],
  ],
  [
    'a store of files as a resource name',
    { at: 'c', path: '/v1beta/fileSearchStores', body: { displayName: 'x' } },
    json({ name: 'fileSearchStores/s1' }),
    [
      { at: 'c', path: '/v1beta/fileSearchStores/s1:importFile', body: { fileName: 'files/f0' } },
      {
        ...{ at: 'c', path: '/v1beta/models/gemini:generateContent' },
        body: { contents: [], tools: [{ fileSearch: { fileSearchStoreNames: ['fileSearchStores/s1'] } }] },
      },
    ],
  ],
  [
    'a trigger',
    { at: 'c', path: '/v1beta/triggers', body: {} },
    json({ id: 'trg_1' }),
    [{ at: 'c', path: '/v1beta/triggers/trg_1/executions', body: {} }],
  ],
  [
    'an interaction of a trigger',
    { at: 'c', path: '/v1beta/triggers/trg_0/executions', body: {} },
    json({ id: 'exe_1', interaction_id: 'int_1' }),
    [{ at: 'c', method: 'GET', path: '/v1beta/interactions/int_1' }],
  ],
]

it.each(GIVEN)('%s belongs to the agent that was given its id', async (...given) => {
  const world = await start(rules())
  await give(world, given)
  expect(lastRecord(world)?.given).toHaveLength(1)
  await expectOwned(world, given[3])
})

it('a stream gives its message and its container', async () => {
  const world = await start(rules())
  const body = { ...CODE, stream: true, thread: { type: 'create' } }
  world.upstream.answerWith(
    events(
      { type: 'message_start', message: { id: 'msg_1', container: null } },
      { type: 'message_delta', delta: { container: CONTAINER } },
    ),
  )
  await world.send(asked('a', { at: 'b', path: '/v1/messages', body }))
  expect(lastRecord(world)?.given?.map(({ kind }) => kind)).toEqual(['message', 'container'])
})

it('answers of plain messages and chats are not read', async () => {
  const world = await start(rules())
  const headers = ['Accept-Encoding', 'gzip']
  const { tools: _tools, ...plain } = CODE
  await world.send(asked('a', { at: 'b', path: '/v1/messages', body: plain, headers }))
  await world.send(asked('a', { at: 'a', path: '/v1/chat/completions', body: { model: 'm' }, headers }))
  expect(world.upstream.seen.map((seen) => seen.header('accept-encoding'))).toEqual(['gzip', 'gzip'])
})
