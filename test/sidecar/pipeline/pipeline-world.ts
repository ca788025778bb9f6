import { afterEach, expect } from 'vitest'
import type { PipelineOptions } from '../../../sidecar/pipeline/pipeline.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import { type Rules, startWorld, type World } from './test-world.ts'

const worlds: World[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world[Symbol.asyncDispose]()
})

/** Ends with the test. */
export async function start(rules: Rules = {}, pipeline: PipelineOptions = {}): Promise<World> {
  const world = await startWorld(rules, { pipeline })
  worlds.push(world)
  return world
}

/** Every refusal: answered by us, nothing upstream, one record, no intent, nothing left registered. */
export function expectRefused(world: World): void {
  expect(world.upstream.seen).toEqual([])
  expect(world.upstream.connections).toBe(0)
  expect(world.records).toHaveLength(1)
  expect(world.intents).toEqual([])
  expect(world.live.size).toBe(0)
}

export const MERGE: TestExchangeInput = { method: 'PUT', target: '/repos/acme/site/pulls/7/merge' }
export const LIST: TestExchangeInput = { method: 'GET', target: '/repos/acme/site/issues' }
export const JSON_BODY = ['Content-Type', 'application/json']
