import { describe, expect, it } from 'vitest'
import { LIMITS } from '../../../../core/wire/schema/limits.ts'
import { AnswerBudget } from '../../../../sidecar/pipeline/response/answer-budget.ts'
import type { Answer } from '../../../support/recorder.ts'
import { JSON_BODY, start } from '../pipeline-world.ts'

const ANSWER = ['{"object":"batch",', `"errors":null,${' '.repeat(900 * 1024)}`, '"id":"batch_1"}']

/** Sends the parts of the answer as chunks of their own. */
const inParts: Answer = async (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' })
  for (const part of ANSWER) {
    response.write(part)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  response.end()
}

/** Starts a batch at a provider. `slowMs`: how far the clock advances with each call. */
async function batch(slowMs: number) {
  const world = await start({
    connectors: [{ type: 'llm_a', name: 'openai' }],
    permissions: [['llm_a.*', 'allow']],
    gateway: { egress: { unmatchedHosts: 'tunnel', allowedHosts: [], tcp: [] } },
  })
  world.upstream.answerWith(inParts)
  let aheadMs = 0
  Object.defineProperty(world.clock, 'aheadMs', { get: () => (aheadMs += slowMs) })
  const body = JSON.stringify({ input_file_id: 'file_9', endpoint: '/v1/responses' })
  const { reply } = await world.send({
    ...{ method: 'POST', host: 'api.openai.com', target: '/v1/batches', headers: JSON_BODY, body },
  })
  expect(reply.text()).toBe(ANSWER.join(''))
  return { record: world.records[0], unidentified: world.hostedWork.unidentifiedCount }
}

describe('the stages of a response', () => {
  it('read it to its end within their time', async () => {
    const { record, unidentified } = await batch(0)
    expect(record).toMatchObject({ note: null, given: [{ kind: 'batch' }] })
    expect(unidentified).toBe(0)
  })

  it('stop without it, pass the response unchanged, and the record names them', async () => {
    const { record, unidentified } = await batch(LIMITS.answerEditMs)
    expect(record).toMatchObject({ note: 'time budget used up: hosted work, handles', status: 200 })
    expect(record?.given).toBeUndefined()
    // A kill switch reports work that it cannot cancel.
    expect(unidentified).toBe(1)
  })

  it('share one time: what one stage used up, the others do not have', () => {
    let nowMs = 0
    const budget = new AnswerBudget(() => nowMs)
    const steps: string[] = []
    const step = (name: string, ms: number) => () => {
      steps.push(name)
      nowMs += ms
    }
    const chunk = new Uint8Array(LIMITS.answerEditMs * 16_384)
    expect(budget.run('handles', chunk, step('first', LIMITS.answerEditMs - 1))).toBe(true)
    expect(budget.run('hosted work', chunk, step('second', 1))).toBe(true)
    expect(budget.stopped).toEqual([])
    expect(budget.run('handles', chunk, step('third', 0))).toBe(false)
    expect(budget.run('candidates', chunk, step('fourth', 0))).toBe(false)
    expect(steps).toEqual(['first', 'second'])
    expect(budget.stopped).toEqual(['handles', 'candidates'])
  })

  it.each([
    ['a small chunk', 1, 5],
    ['a chunk of 16 KiB', 16_384, 5],
    ['a chunk of 64 KiB', 65_536, 20],
  ])('count a pause of the process as little time: %s', (_what, length, countedMs) => {
    let nowMs = 0
    const budget = new AnswerBudget(() => nowMs)
    const pause = (ms: number) => budget.run('handles', new Uint8Array(length), () => (nowMs += ms))
    pause(90_000)
    expect(budget.leftMs).toBe(LIMITS.answerEditMs - countedMs)
    pause(2)
    expect(budget.leftMs).toBe(LIMITS.answerEditMs - countedMs - 2)
  })
})
