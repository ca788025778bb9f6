import { afterEach, describe, expect, it } from 'vitest'
import type { WorkKind } from '../../../core/connectors/hosted-work/table.ts'
import { testExchange } from '../pipeline/test-exchange.ts'
import { type Ask, asked, BACKGROUND, endWorlds, HOSTS, json, SCHEDULED, start } from './hosted-work-world.ts'

afterEach(endWorlds)

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
    const at = { scheme: 'https', host: HOSTS.a, port: 443, segments: ['v1'], rawTarget: '/v1' } as const
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

  it('the number of requests whose answer contained no id', async () => {
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

describe('a video', () => {
  const VIDEO: Ask = { at: 'a', path: '/v1/videos', body: { model: 'sora', prompt: 'x' } }
  const REMIX: Ask = { at: 'a', path: '/v1/videos/video_0/remix', body: { prompt: 'x' } }

  it.each([VIDEO, REMIX])('that is being made is listed, because it cannot be cancelled', async (request) => {
    const { world, stop, settled } = await start()
    world.upstream.answerWith(json({ id: 'video_1', status: 'queued' }))
    expect((await world.send(asked('a', request))).reply.status).toBe(200)
    stop()
    expect((await settled()).results).toMatchObject([
      { kind: 'video', id: 'video_1', outcome: 'left', detail: expect.stringContaining('no operation') },
    ])
    expect(world.upstream.seen).toHaveLength(1)
  })

  it('that was seen as made is not listed', async () => {
    const { world } = await start()
    world.upstream.answerWith(json({ id: 'video_1', status: 'queued' }))
    await world.send(asked('a', VIDEO))
    world.upstream.answerWith(json({ id: 'video_1', status: 'completed' }))
    await world.send(asked('a', { at: 'a', method: 'GET', path: '/v1/videos/video_1' }))
    expect(world.hostedWork.size).toBe(0)
  })
})

it('a prediction of a long-running model is listed', async () => {
  const { world, stop, settled } = await start()
  world.upstream.answerWith(json({ name: 'models/veo/operations/op1' }))
  await world.send(
    asked('a', { at: 'c', path: '/v1beta/models/veo:predictLongRunning', body: { instances: [] } }),
  )
  stop()
  expect((await settled()).results).toMatchObject([{ kind: 'prediction', id: 'op1', outcome: 'left' }])
})
