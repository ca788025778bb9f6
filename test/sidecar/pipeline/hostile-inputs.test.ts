import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { exceedsJsonBounds } from '../../../core/request/json/json-size.ts'
import { HOSTILE_INPUTS, HOSTILE_RULES } from '../../support/hostile-inputs.ts'
import { start } from './pipeline-world.ts'

describe('hostile inputs', () => {
  /** What was handed to a parser that cannot be interrupted. */
  const parsed: string[] = []
  beforeEach(() => {
    parsed.length = 0
    const parse = JSON.parse
    vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
      parsed.push(String(text))
      return parse(text, reviver)
    })
  })
  afterEach(() => vi.restoreAllMocks())

  it.each(HOSTILE_INPUTS)('%s', async (_name, { type, ...place }, body, status) => {
    const world = await start(HOSTILE_RULES)
    const exchange = await world.send({ ...place, headers: ['Content-Type', type], body })
    const texts = parsed.filter((text) => exceedsJsonBounds(text))
    vi.restoreAllMocks()
    expect({ status: exchange.reply.status, body: exchange.reply.text().slice(0, 300) }).toMatchObject({
      status,
    })
    expect(world.records).toHaveLength(1)
    expect(world.live.size).toBe(0)
    expect(texts).toEqual([])
    if (status !== 200) {
      expect(world.upstream.seen).toEqual([])
      expect(world.intents).toEqual([])
    }
  })
})
