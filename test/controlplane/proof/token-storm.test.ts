import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { ControlPlaneProcess } from '../../support/control-plane-process.ts'
import { type DurableInstallation, startDurableInstallation } from '../../support/durable-installation.ts'
import { count, queueLookups, size } from '../../support/proof.ts'
import { ALLOWED } from '../v1/world.ts'

const TOKENS = size(80, 10_000)
const USES = size(16, 32)
const BATCH = 20
/** Issued shortly before they are used: a token is good for five minutes, and on a busy machine all of them take longer. */
const SLICE = Math.min(TOKENS, 1_000)
/** The full proof is for a night, on a machine that may have other work. */
vi.setConfig({ testTimeout: size(600_000, 3_600_000) })
/** 60 requests a minute are an agent's limit. */
const BATCHES_PER_AGENT = 50

let here: DurableInstallation
/** Why the database did not come back: nobody waits for it then. */
let broken: Error | undefined
let planes: readonly [ControlPlaneProcess, ControlPlaneProcess]

beforeAll(async () => {
  here = await startDurableInstallation({ LOG_LEVEL: 'fatal' })
  planes = [await here.start(), await here.start()]
})
afterAll(() => here?.[Symbol.asyncDispose]())

type Issued = { readonly action_request_id: string; readonly decision_token: string }

async function issue(): Promise<Issued[]> {
  const batches = Array.from({ length: SLICE / BATCH })
  const keys = await Promise.all(
    Array.from({ length: Math.ceil(batches.length / BATCHES_PER_AGENT) }, () => here.agent(planes[0])),
  )
  const lists = await queueLookups(batches, 4, async (_, index) => {
    const key = keys[Math.floor(index / BATCHES_PER_AGENT)]?.key ?? ''
    const actions = Array(BATCH).fill({ action_spec: ALLOWED })
    const plane = planes[index % 2] as ControlPlaneProcess
    const { body, text } = await here.send(plane.url, 'POST', '/api/v1/actions/batch', {
      key,
      body: { actions },
    })
    if (body['results'] === undefined) throw new Error(text)
    return body['results'] as Issued[]
  })
  return lists.flat()
}

/** One use; repeated as long as nobody answered or the answer is that it could not be done now. */
async function use(issued: Issued, index: number): Promise<string> {
  const plane = planes[index % 2] as ControlPlaneProcess
  for (;;) {
    if (broken !== undefined) throw broken
    const reply = await here
      .send(plane.url, 'POST', '/api/v1/tokens/verify', { body: issued })
      .catch(() => undefined)
    if (reply === undefined || reply.status === 503) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      continue
    }
    if (reply.status !== 200) return String(reply.status)
    return reply.body['valid'] === true ? 'valid' : String(reply.body['error'])
  }
}

test(`${TOKENS} tokens, each used ${USES} times at once at two replicas with a restart of the database in between, succeed exactly ${TOKENS} times`, async () => {
  const uses: string[][] = []
  let restarted: Promise<void> | undefined
  const restart = () =>
    here.restartDatabase().catch((error: Error) => {
      broken = error
    })
  for (let from = 0; from < TOKENS; from += SLICE) {
    const issued = await issue()
    expect(issued).toHaveLength(SLICE)
    const outcomes = await queueLookups(issued, 8, async (one, index) => {
      if (from + index === TOKENS / 2) restarted = restart()
      return Promise.all(Array.from({ length: USES }, (_, n) => use(one, n)))
    })
    await restarted
    uses.push(...outcomes)
  }
  // Tokens were used before the restart and after it: what follows was proven through it.
  const around = await here.sql<{ before: boolean; uses: string }>(
    'select used_at < pg_postmaster_start_time() as before, count(*) as uses from nonces group by 1 order by 1',
  )
  expect(around.map(({ before, uses }) => [before, Number(uses) > 0])).toEqual([
    [false, true],
    [true, true],
  ])
  const successes = uses.map((outcomes) => outcomes.filter((outcome) => outcome === 'valid').length)
  expect(count(successes)).toEqual(new Map([[1, TOKENS]]))
  const refusals = uses.flat().filter((outcome) => outcome !== 'valid')
  expect(refusals).toHaveLength(TOKENS * (USES - 1))
  // Beyond 12,000 failures a minute from one address they are refused as such.
  expect(refusals.filter((outcome) => outcome !== 'Nonce already used' && outcome !== '429')).toEqual([])
  const [stored] = await here.sql<{ used: string }>(
    "select count(*) as used from nonces where used_by = 'verify'",
  )
  expect(Number(stored?.used)).toBe(TOKENS)
})
