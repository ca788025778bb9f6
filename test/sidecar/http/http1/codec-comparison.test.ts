import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { IS_FULL, seeded, size } from '../../../support/proof.ts'
import { createGenerator, type Generator } from './message-generator.ts'
import { type RequestsRead, readRequests, readResponse } from './our-parser.ts'
import { createReferenceServer, type RequestSeen, readByReference, settled } from './reference-parser.ts'
import { hasTabAtCoding, isReadByDesign, REQUESTS, RESPONSES, type Strictness } from './strictness.ts'

/** Messages for each direction. */
const MESSAGES = size(50_000, 5_000_000)
/** Messages whose streams Node emits in the same turn of the event loop. */
const BATCH = 100
const TIMEOUT_MS = size(240_000, 7_200_000)

/** Regular runs use the same messages every time, the nightly run new ones. A failure states the seed. */
const SEED = IS_FULL ? Date.now() : 20_261_129

type Difference = {
  readonly seed: number
  readonly text: string
  readonly ours: unknown
  readonly theirs: unknown
}

type Comparison = {
  accepted: number
  readonly explained: Map<string, number>
  readonly differences: Difference[]
}

const newComparison = (): Comparison => ({ accepted: 0, explained: new Map(), differences: [] })

/** Notes a message that the gateway refuses and Node reads. The message is explained by a named strictness, or differs. */
function noteRefused(
  into: Comparison,
  { text, problem, table }: { text: string; problem: string; table: readonly Strictness[] },
): boolean {
  const found = table.find((one) => one.problem.test(problem) && one.holds(text))
  if (found === undefined) return false
  into.explained.set(found.name, (into.explained.get(found.name) ?? 0) + 1)
  return true
}

function compareRequests(into: Comparison, text: string, theirs: readonly RequestSeen[]): void {
  const ours = readRequests(Buffer.from(text, 'latin1'))
  into.accepted += ours.requests.length
  if (!isSame(into, text, { ours, theirs })) into.differences.push({ seed: SEED, text, ours, theirs })
}

type Read = { readonly ours: RequestsRead; readonly theirs: readonly RequestSeen[] }

function isSame(into: Comparison, text: string, { ours, theirs }: Read): boolean {
  const { requests, problem, isOpen } = ours
  const refused = theirs.length < requests.length ? requests[theirs.length] : undefined
  const common = Math.min(requests.length, theirs.length)
  if (!isDeepStrictEqual(requests.slice(0, common), theirs.slice(0, common))) return false
  if (refused !== undefined) return isReadByDesign(refused, text)
  if (theirs.length === requests.length || !isOpen) return true
  return problem !== null && noteRefused(into, { text, problem, table: REQUESTS })
}

function compareResponses(
  into: Comparison,
  { text, method }: { text: string; method: string },
  theirs: ReturnType<ReturnType<typeof readByReference>>,
): void {
  const ours = readResponse(Buffer.from(text, 'latin1'), method)
  if (typeof ours !== 'string') {
    into.accepted += 1
    if (!isDeepStrictEqual(ours, theirs) && !hasTabAtCoding(text))
      into.differences.push({ seed: SEED, text, ours, theirs })
  } else if (theirs !== null && !noteRefused(into, { text, problem: ours, table: RESPONSES })) {
    into.differences.push({ seed: SEED, text, ours, theirs })
  }
}

async function inBatches(make: (generator: Generator) => () => void): Promise<void> {
  const generator = createGenerator(seeded(SEED))
  for (let done = 0; done < MESSAGES; done += BATCH) {
    const batch = Array.from({ length: BATCH }, () => make(generator))
    await settled()
    for (const compare of batch) compare()
  }
}

describe('the HTTP/1 codec and the parser of Node', () => {
  it('read the same requests, or the gateway refuses one for a named reason', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const result = newComparison()
    const parse = createReferenceServer()
    await inBatches((generator) => {
      const text = generator.request()
      const theirs = parse(Buffer.from(text, 'latin1'))
      return () => compareRequests(result, text, theirs())
    })
    expect(result.differences.slice(0, 3)).toEqual([])
    // A generator that makes few valid messages would prove nothing.
    expect(result.accepted).toBeGreaterThan(MESSAGES / 4)
    expect(result.explained.size).toBeGreaterThan(REQUESTS.length / 2)
  })

  it('read the same responses, or the gateway refuses one for a named reason', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const result = newComparison()
    await inBatches((generator) => {
      const text = generator.response()
      const method = text.length % 8 === 0 ? 'HEAD' : 'GET'
      const theirs = readByReference(Buffer.from(text, 'latin1'), method)
      return () => compareResponses(result, { text, method }, theirs())
    })
    expect(result.differences.slice(0, 3)).toEqual([])
    expect(result.accepted).toBeGreaterThan(MESSAGES / 4)
    expect(result.explained.size).toBeGreaterThan(RESPONSES.length / 2)
  })
})
