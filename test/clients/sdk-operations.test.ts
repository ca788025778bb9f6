import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { queueLookups, size } from '../support/proof.ts'
import type { SdkCall } from './sdk/calls.ts'
import { type Lane, openLane, type RecordRow, recordsOf, type SentRequest } from './sdk/lane.ts'
import { anthropicCalls, openaiCalls } from './sdk/model-calls.ts'
import { octokitCalls } from './sdk/octokit-calls.ts'
import { readPublished, shapeOf } from './sdk/published.ts'
import { slackCalls } from './sdk/slack-calls.ts'
import { stripeCalls } from './sdk/stripe-calls.ts'
import { startUpstreams, type Upstreams } from './sdk/upstreams.ts'

/**
 * Every method that the official libraries generate from their providers' descriptions, called with made-up arguments
 * through a live gateway. The library's own source says which operation a method is; the catalogue's lines (read one by
 * one, not looked up) say what that operation is called; the record has to say the same. Every method in the nightly run.
 */
const SDKS = [
  { sdk: 'octokit', provider: 'codehost', callsOf: octokitCalls, count: 1_028, unlisted: 29 },
  { sdk: 'stripe', provider: 'payments', callsOf: stripeCalls, count: 650, unlisted: 0 },
  { sdk: 'openai', provider: 'llm_a', callsOf: openaiCalls, count: 388, unlisted: 117 },
  { sdk: 'anthropic', provider: 'llm_b', callsOf: anthropicCalls, count: 380, unlisted: 72 },
  { sdk: 'slack', provider: 'chat', callsOf: slackCalls, count: 280, unlisted: 0 },
] as const
const LANES = 4
/** One method of this many is called. */
const STEP = size(4, 1)

let upstreams: Upstreams
let laptop: Laptop

beforeAll(async () => {
  upstreams = await startUpstreams()
  laptop = await startLaptop({ database: 'worker', manifests: { 'upstreams.yaml': upstreams.manifests } })
})
afterAll(async () => {
  await laptop?.stop()
  await upstreams?.recorder.close()
})

type Called = {
  readonly call: SdkCall
  readonly sent: SentRequest | undefined
  readonly row?: RecordRow | undefined
}
type Faults = string[]

/** Calls one lane's share. A method that did not send exactly one request is a fault of this test's arguments. */
async function callShare(lane: Lane, calls: readonly SdkCall[], faults: Faults): Promise<readonly Called[]> {
  const called: SdkCall[] = []
  for (const call of calls) {
    const before = lane.sent.length
    let problem = 'nothing went wrong'
    try {
      await call.invoke()
    } catch (error) {
      problem = String(error)
    }
    if (lane.sent.length - before === 1) called.push(call)
    else faults.push(`${call.name} sent ${lane.sent.length - before} requests: ${problem}`)
  }
  const rows = await recordsOf(laptop, lane)
  if (rows.length !== lane.sent.length)
    faults.push(`${lane.sent.length} requests have ${rows.length} records`)
  return called.map((call, at) => ({ call, sent: lane.sent[at], row: rows[at] }))
}

const multiset = (texts: readonly string[]) => [...texts].sort()

describe.each(SDKS)('$sdk', ({ sdk, provider, callsOf, count, unlisted }) => {
  const published = readPublished(provider)

  function faultsOf({ call, sent, row }: Called): readonly string[] {
    const operation = call.operation ?? { method: '', shape: '' }
    const names = published.namesOf({ ...operation, template: operation.shape, id: call.name })
    const faults: string[] = []
    const listed = published.match(sent?.method ?? '', sent?.path ?? '')
    const isOwn = published.find(operation.method, operation.shape) === null
    if (!isOwn && shapeOf(listed?.template ?? '') !== shapeOf(operation.shape))
      faults.push(`${sent?.method} ${sent?.path} is ${listed?.template ?? 'nothing that is listed'}`)
    if (row?.method !== sent?.method || row?.host !== sent?.host || row?.path.split('?')[0] !== sent?.path)
      faults.push(
        `${sent?.host} ${sent?.method} ${sent?.path} is recorded as ${row?.host} ${row?.method} ${row?.path}`,
      )
    if (names.length !== 1 || row?.action_type !== names[0])
      faults.push(
        `recorded as ${row?.action_type}, called ${names.join(' or ') || 'nothing'} in the catalogue`,
      )
    if (row?.decision !== 'ALLOW' || row.status !== 200) faults.push(`${row?.decision} ${row?.status}`)
    return faults.map((fault) => `${call.name}: ${fault}`)
  }

  test('the action recorded is the operation called, for the generated methods', async () => {
    const before = upstreams.recorder.seen.length
    const faults: Faults = []
    const lanes = await Promise.all(
      Array.from({ length: LANES }, (_, at) => openLane(laptop, `${sdk}-${at}`)),
    )
    const shares = await queueLookups(lanes, LANES, (lane, at) => {
      const chosen = callsOf(lane.fetch).filter((_call, index) => index % STEP === 0)
      const share = chosen.filter((_call, index) => index % LANES === at)
      return callShare(lane, share, faults)
    })
    const all = lanes.slice(0, 1).flatMap((lane) => callsOf(lane.fetch))
    await Promise.all(lanes.map((lane) => lane.close()))
    const called = shares.flat()
    faults.push(...called.flatMap(faultsOf))
    expect(faults).toEqual([])
    expect(all).toHaveLength(count)
    expect(called).toHaveLength(Math.ceil(count / STEP))
    const arrived = upstreams.recorder.seen.slice(before)
    expect(multiset(arrived.map(({ method, target }) => `${method} ${target.split('?')[0]}`))).toEqual(
      multiset(called.map(({ sent }) => `${sent?.method} ${sent?.path}`)),
    )
    // What a library knows and the published list does not: named all the same.
    const own = all.filter(({ operation }) => {
      const { method = '', shape = '' } = operation ?? {}
      return published.find(method, shape) === null
    })
    expect(own).toHaveLength(unlisted)
  }, 120_000)
})
