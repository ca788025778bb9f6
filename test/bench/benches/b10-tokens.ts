import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import type { JWK } from 'jose'
import type { Db } from '../../../controlplane/db/query.ts'
import type { TokenKeys } from '../../../controlplane/features/actions/tokens/keys.ts'
import { createTokens } from '../../../controlplane/features/actions/tokens/service.ts'
import type { Served } from '../../support/processes.ts'
import type { Bench } from '../main.ts'
import {
  type DurableBed,
  startDurableBed,
  startDurablePeer,
  startPlane,
  stopAll,
} from '../support/durable-bed.ts'
import { median } from '../support/measure.ts'
import { postRequest, sendAll } from '../support/plain-http.ts'
import { absolute, compare, exact, type Row } from '../support/report.ts'
import { ALLOWED_SPEC, submissions } from './b9-actions.ts'

const CONNECTIONS = 64
const REPLAYS = 1_000
const VERIFY = '/api/v1/tokens/verify'

type Issued = { readonly action_request_id: string; readonly decision_token: string }

/**
 * Decision tokens: verify and use up beside a peer with one statement for each, 1,000 replays of one token at once, and
 * what garbage costs beside a good token, in process and over HTTP. CPU is that of the service and of the database.
 */
export const tokens: Bench = async ({ bed: { folder }, isQuick }) => {
  await using bed = await startDurableBed(join(folder, 'b10'))
  const plane = await startPlane(bed, bed.postgres.url)
  const services = new Map([
    ['chaperone', plane],
    ['one statement', await startDurablePeer(bed, 'statement')],
  ])
  try {
    const consume = await consumption(
      bed,
      services,
      isQuick ? { rounds: 3, size: 1_000 } : { rounds: 5, size: 3_000 },
    )
    const successes = await replay(bed, plane)
    return [
      ...compare('B10', 'verify + use up: CPU us, service and database', tokensOf(consume), {
        'one statement': 0.6,
      }),
      {
        bench: 'B10',
        figure: 'garbage over HTTP: CPU us',
        ours: consume.get(GARBAGE) ?? Number.NaN,
        peer: 'a valid token',
        theirs: consume.get('chaperone') ?? null,
        goal: 1 / 4,
      },
      exact('B10', `successes of ${REPLAYS} replays at once`, successes, 1),
      ...(await inProcess()),
    ]
  } finally {
    await stopAll([...services.values()])
  }
}

const GARBAGE = 'garbage'
/** Of the 12,000 refused tokens a minute that one address may send, a round; the replays are refused, too. */
const MOST_NOISE = 1_700

function tokensOf(consume: ReadonlyMap<string, number>): Map<string, number> {
  return new Map([...consume].filter(([name]) => name !== GARBAGE))
}

type Size = { readonly rounds: number; readonly size: number }

/** Good tokens of each service, and noise for ours, in turns. */
async function consumption(
  bed: DurableBed,
  services: ReadonlyMap<string, Served>,
  { rounds, size }: Size,
): Promise<Map<string, number>> {
  const found = new Map<string, number[]>()
  const keep = (name: string, us: number): void => {
    found.set(name, [...(found.get(name) ?? []), us])
  }
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, service] of services) {
      const issued = await issue(bed, service, size)
      const { us, valid } = await verifyAll(bed, service, issued)
      if (valid !== size) throw new Error(`${valid} of ${size} good tokens were accepted by ${name}`)
      // The first round warms up.
      if (round > 0) keep(name, us)
      const noise = name === 'chaperone' ? await garbageUs(bed, service, Math.min(size, MOST_NOISE)) : null
      if (noise !== null && round > 0) keep(GARBAGE, noise)
    }
  }
  return new Map([...found].map(([name, list]) => [name, median(list)]))
}

async function issue(bed: DurableBed, service: Served, count: number): Promise<readonly Issued[]> {
  const issued: Issued[] = []
  await sendAll(service.port, CONNECTIONS, {
    requests: await submissions(bed, count),
    onAnswer: ({ body }) => issued.push(JSON.parse(body) as Issued),
  })
  return issued
}

async function verifyAll(bed: DurableBed, service: Served, list: readonly Issued[]) {
  const requests = list.map(({ decision_token, action_request_id }) =>
    postRequest(VERIFY, { decision_token, action_request_id }),
  )
  let valid = 0
  const before = bed.cpuUs(service)
  await sendAll(service.port, CONNECTIONS, {
    requests,
    onAnswer: ({ status, body }) => {
      if (status !== 200) throw new Error(`verify answered ${status}: ${body}`)
      if (body.includes('"valid":true')) valid += 1
    },
  })
  return { us: (bed.cpuUs(service) - before) / list.length, valid }
}

/** Three segments of noise, as long as a token. */
async function garbageUs(bed: DurableBed, plane: Served, count: number): Promise<number> {
  const noise = Array.from({ length: count }, (_, i) => ({
    action_request_id: `act_${i}`,
    decision_token: NOISE,
  }))
  const { us, valid } = await verifyAll(bed, plane, noise)
  if (valid > 0) throw new Error('garbage was accepted')
  return us
}

async function replay(bed: DurableBed, plane: Served): Promise<number> {
  const [one] = await issue(bed, plane, 1)
  if (one === undefined) throw new Error('no token was issued')
  const { valid } = await verifyAll(bed, plane, Array<Issued>(REPLAYS).fill(one))
  return valid
}

const NOISE = `${'Zm9vYmFy'.repeat(12)}.${'bm9pc2Ug'.repeat(50)}.${'c2lnbmVk'.repeat(10)}AAAAAA`

async function inProcess(): Promise<Row[]> {
  const made = createTokens({ db: NO_DATABASE, keys: oneKey() })
  const subject = { id: 'act_1', orgId: 'org_1', agentId: 'agent_1', spec: ALLOWED_SPEC }
  const seed = made.newSeed()
  const issuedAt = Math.floor(Date.now() / 1_000)
  const token = (await made.signed(subject, seed, issuedAt)) ?? ''
  if (typeof (await made.read(token)) === 'string') throw new Error('our own token is not good')
  const sign = await bestUs(() => made.signed(subject, seed, issuedAt))
  const valid = await bestUs(() => made.read(token))
  const noise = await bestUs(() => made.read(NOISE))
  return [
    absolute('B10', 'sign, in process: us', sign, null),
    absolute('B10', 'verify a good token, in process: us', valid, null),
    {
      bench: 'B10',
      figure: 'refuse garbage, in process: us',
      ours: noise,
      peer: 'a valid token',
      theirs: valid,
      goal: 1 / 20,
    },
  ]
}

/** Signing and verifying touch no database. */
const NO_DATABASE = new Proxy({} as Db, {
  get: (_target, name) => {
    throw new Error(`the database was asked for ${String(name)}`)
  },
})

function oneKey(): TokenKeys {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const key = { kid: 'bench', privateKey, publicJwk: publicKey.export({ format: 'jwk' }) as JWK }
  return {
    current: () => key,
    find: async (kid) => (kid === key.kid ? key : undefined),
    all: async () => [key],
    rotate: async () => key,
  }
}

async function bestUs(work: () => Promise<unknown>): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < 8; round += 1) {
    const startedAt = performance.now()
    for (let i = 0; i < 1_000; i += 1) await work()
    best = Math.min(best, performance.now() - startedAt)
  }
  return best
}
