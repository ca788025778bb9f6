import { isDeepStrictEqual } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'
import { IS_FULL, seeded, size } from '../../../support/proof.ts'
import { frozenCodec } from './codec.ts'
import {
  type Change,
  REQUEST_CHANGES,
  RESPONSE_CHANGES,
  rewordedRequests,
  rewordedResponse,
} from './codec-changes.ts'
import { createGenerator, type Generator } from './message-generator.ts'
import {
  createReferenceServer,
  type RequestSeen,
  type ResponseSeen,
  readByReference,
  settled,
} from './reference-parser.ts'
import { type RequestsRead, readRequests } from './request-reader.ts'
import { type ResponseRead, readResponse } from './response-reader.ts'
import { hasTabAtCoding, isReadByDesign, REQUESTS, RESPONSES, type Strictness } from './strictness.ts'

/** Messages for each direction. */
const MESSAGES = size(50_000, 5_000_000)
/** Messages whose streams Node emits in the same turn of the event loop. */
const BATCH = 100
const TIMEOUT_MS = size(240_000, 7_200_000)

/** Regular runs use the same messages every time, the nightly run new ones. A failure states the seed. */
const SEED = IS_FULL ? Date.now() : 20_261_129

type Difference = {
  readonly from: 'Node' | 'the frozen codec'
  readonly seed: number
  readonly pieces: readonly string[]
  readonly ours: unknown
  readonly theirs: unknown
}

/** Number of differences by the rule that explains them. */
type Explained = Map<string, number>

type Comparison = {
  accepted: number
  readonly strictness: Explained
  readonly changes: Explained
  readonly differences: Difference[]
}

const newComparison = (): Comparison => ({
  ...{ accepted: 0, strictness: new Map(), changes: new Map(), differences: [] },
})

const results = new Map<string, Comparison>()

afterAll(() => {
  if (!IS_FULL) return
  for (const [title, { accepted, strictness, changes }] of results)
    console.log(`${title}: ${MESSAGES} messages, ${accepted} accepted, seed ${SEED}`, { strictness, changes })
})

function count(into: Explained, name: string): true {
  into.set(name, (into.get(name) ?? 0) + 1)
  return true
}

/** Notes a message that the gateway refuses and Node reads. The message is explained by a named strictness, or differs. */
function noteRefused(
  into: Comparison,
  { text, problem, table }: { text: string; problem: string; table: readonly Strictness[] },
): boolean {
  const found = table.find((one) => one.problem.test(problem) && one.holds(text))
  return found !== undefined && count(into.strictness, found.name)
}

/** Notes a message that the frozen codec reads otherwise. The message is explained by a named change, or differs. */
function isSameAsBefore<Read>(
  into: Comparison,
  { before, now, text }: { before: Read; now: Read; text: string },
  table: ReadonlyArray<Change<Read>>,
): boolean {
  if (isDeepStrictEqual(before, now)) return true
  const found = table.find((change) => change.holds(before, now, text))
  return found !== undefined && count(into.changes, found.name)
}

const seenOf = ({ requests }: RequestsRead): readonly RequestSeen[] =>
  requests.map(({ head: { method, target, rawHeaders: headers }, body }) => ({
    method,
    target,
    headers,
    body,
  }))

function isSameAsNode(
  into: Comparison,
  text: string,
  { ours, theirs }: { readonly ours: RequestsRead; readonly theirs: readonly RequestSeen[] },
): boolean {
  const { problem, isOpen } = ours
  const requests = seenOf(ours)
  const refused = theirs.length < requests.length ? requests[theirs.length] : undefined
  const common = Math.min(requests.length, theirs.length)
  if (!isDeepStrictEqual(requests.slice(0, common), theirs.slice(0, common))) return false
  if (refused !== undefined) return isReadByDesign(refused, text)
  if (theirs.length === requests.length || !isOpen) return true
  return problem !== null && noteRefused(into, { text, problem, table: REQUESTS })
}

function isResponseOfNode(
  into: Comparison,
  text: string,
  { ours, theirs }: { readonly ours: ResponseRead; readonly theirs: ResponseSeen | null },
): boolean {
  const { problem, status, headers, body, trailers, written } = ours
  // The request cannot be sent, so its response was not read.
  if (written === '') return problem?.endsWith('is not safe to send') === true
  if (problem === null)
    return isDeepStrictEqual({ status, headers, body, trailers }, theirs) || hasTabAtCoding(text)
  return theirs === null || noteRefused(into, { text, problem, table: RESPONSES })
}

async function inBatches(title: string, make: (generator: Generator, into: Comparison) => () => void) {
  const into = newComparison()
  results.set(title, into)
  const generator = createGenerator(seeded(SEED))
  for (let done = 0; done < MESSAGES; done += BATCH) {
    const batch = Array.from({ length: BATCH }, () => make(generator, into))
    await settled()
    for (const compare of batch) compare()
    if (IS_FULL && (done + BATCH) % (MESSAGES / 20) === 0)
      console.log(`${title}: ${done + BATCH} of ${MESSAGES} compared, ${into.differences.length} differences`)
  }
  return into
}

function noteDifferences(
  into: Comparison,
  pieces: readonly string[],
  checks: ReadonlyArray<Pick<Difference, 'from' | 'ours' | 'theirs'> & { readonly isSame: boolean }>,
): void {
  for (const { isSame, ...difference } of checks) {
    if (isSame) continue
    // A nightly run states the first ones at once, hours before its end.
    if (IS_FULL && into.differences.length < 3) console.log({ pieces: JSON.stringify(pieces), ...difference })
    into.differences.push({ ...difference, seed: SEED, pieces })
  }
}

const bytesOf = (pieces: readonly string[]): readonly Buffer[] =>
  pieces.map((text) => Buffer.from(text, 'latin1'))

/** A generator that makes few valid messages would prove nothing, and a rule that explains nothing is wrong. */
function expectExplained(
  result: Comparison,
  strictness: readonly Strictness[],
  changes: readonly { name: string }[],
) {
  expect(result.differences.slice(0, 3)).toEqual([])
  expect(result.accepted).toBeGreaterThan(MESSAGES / 4)
  expect(result.strictness.size).toBeGreaterThan(strictness.length / 2)
  expect([...result.changes.keys()].sort()).toEqual(changes.map(({ name }) => name).sort())
}

describe('the HTTP/1 codec, the parser of Node and the frozen codec', () => {
  it('read the same requests, or a named rule explains the difference', { timeout: TIMEOUT_MS }, async () => {
    const parse = createReferenceServer()
    const frozen = frozenCodec()
    const result = await inBatches('requests', (generator, into) => {
      const texts = generator.pieces(generator.request())
      const theirs = parse(bytesOf(texts))
      return () => {
        const text = texts.join('')
        const ours = readRequests(bytesOf(texts))
        const before = rewordedRequests(readRequests(bytesOf(texts), frozen))
        into.accepted += ours.requests.length
        const seen = theirs()
        noteDifferences(into, texts, [
          { from: 'Node', ours, theirs: seen, isSame: isSameAsNode(into, text, { ours, theirs: seen }) },
          {
            ...{ from: 'the frozen codec', ours, theirs: before },
            isSame: isSameAsBefore(into, { before, now: ours, text }, REQUEST_CHANGES),
          },
        ])
      }
    })
    expectExplained(result, REQUESTS, REQUEST_CHANGES)
  })

  it('read the same responses and write the same requests, or a named rule explains the difference', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const frozen = frozenCodec()
    const result = await inBatches('responses', (generator, into) => {
      const texts = generator.pieces(generator.response())
      const outgoing = generator.outgoing()
      const theirs = readByReference(bytesOf(texts), outgoing.method)
      return () => {
        const text = texts.join('')
        const ours = readResponse(bytesOf(texts), outgoing)
        const before = rewordedResponse(readResponse(bytesOf(texts), outgoing, frozen))
        if (ours.problem === null) into.accepted += 1
        const seen = theirs()
        noteDifferences(into, texts, [
          { from: 'Node', ours, theirs: seen, isSame: isResponseOfNode(into, text, { ours, theirs: seen }) },
          {
            ...{ from: 'the frozen codec', ours, theirs: before },
            isSame: isSameAsBefore(into, { before, now: ours, text }, RESPONSE_CHANGES),
          },
        ])
      }
    })
    expectExplained(result, RESPONSES, RESPONSE_CHANGES)
  })
})
