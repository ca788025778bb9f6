import { join } from 'node:path'
import type { Served } from '../../support/processes.ts'
import type { Bench } from '../main.ts'
import {
  type DurableBed,
  makeAgents,
  startDurableBed,
  startDurablePeer,
  startPlane,
  stopAll,
} from '../support/durable-bed.ts'
import { whatKillLoses } from '../support/kill-proof.ts'
import { median, treeCpuUs } from '../support/measure.ts'
import { postRequest, sendAll } from '../support/plain-http.ts'
import { compare, exact, type Row } from '../support/report.ts'

const CONNECTIONS = 64

/** What the default policies allow: the answer carries a signed token. */
export const ALLOWED_SPEC = {
  type: 'codehost.issue.create',
  resource: { provider: 'codehost', target: 'acme/site', environment: 'development' },
  parameters: { title: 'The page does not load', body: 'x'.repeat(200), labels: ['bug'] },
}

/**
 * Durable `POST /api/v1/actions` beside two peers on the same PostgreSQL, 64 connections in closed loop. The services
 * take turns within a run and the median of the rounds counts. CPU is that of the service and of the database; the
 * client's is not in it. Before that: what was acknowledged survives kill -9 of everything.
 */
export const actions: Bench = async ({ bed: { folder }, isQuick }) => {
  const lost = await whatKillLoses(join(folder, 'b9-proof'), isQuick ? 1 : 3)
  await using bed = await startDurableBed(join(folder, 'b9'))
  const services = await startServices(bed)
  try {
    const measured = await measure(
      bed,
      services,
      isQuick ? { rounds: 3, size: 1_500 } : { rounds: 7, size: 4_000 },
    )
    return [...lost.map(({ figure, count }) => exact('B9', figure, count, 0)), ...rows(measured)]
  } finally {
    await stopAll([...services.values()])
  }
}

type Figure = 'cpu' | 'own' | 'rate'
type Measured = Readonly<Record<Figure, Map<string, number>>>

function rows({ cpu, own, rate }: Measured): Row[] {
  return [
    ...compare('B9', 'CPU us/action, service and database', cpu, { 'one statement': 0.65 }),
    ...compare('B9', 'of it the service alone', own),
    ...compare('B9', 'durable actions per second', rate, {
      'one statement': { atLeast: 1.4 },
      'one transaction': { atLeast: 2.3 },
    }),
  ]
}

async function startServices(bed: DurableBed): Promise<Map<string, Served>> {
  const plane = await startPlane(bed, bed.postgres.url)
  return new Map([
    ['chaperone', plane],
    ['one statement', await startDurablePeer(bed, 'statement')],
    ['one transaction', await startDurablePeer(bed, 'transaction')],
  ])
}

type Size = { readonly rounds: number; readonly size: number }

async function measure(
  bed: DurableBed,
  services: ReadonlyMap<string, Served>,
  { rounds, size }: Size,
): Promise<Measured> {
  const all: Record<Figure, Map<string, number[]>> = { cpu: new Map(), own: new Map(), rate: new Map() }
  for (let round = 0; round <= rounds; round += 1) {
    const requests = await submissions(bed, size)
    for (const [name, service] of services) {
      const done = await submitAll(bed, service, requests)
      // The first round warms up.
      if (round === 0) continue
      for (const figure of ['cpu', 'own', 'rate'] as const) {
        all[figure].set(name, [...(all[figure].get(name) ?? []), done[figure]])
      }
    }
  }
  return { cpu: medians(all.cpu), own: medians(all.own), rate: medians(all.rate) }
}

function medians(values: ReadonlyMap<string, readonly number[]>): Map<string, number> {
  return new Map([...values].map(([name, list]) => [name, median(list)]))
}

/** Each agent sends what it may send in a minute. */
export async function submissions(bed: DurableBed, count: number): Promise<readonly string[]> {
  const agents = await makeAgents(bed, count)
  return Array.from({ length: count }, (_, i) =>
    postRequest('/api/v1/actions', { action_spec: ALLOWED_SPEC }, agents[i % agents.length]?.key),
  )
}

async function submitAll(
  bed: DurableBed,
  service: Served,
  requests: readonly string[],
): Promise<Record<Figure, number>> {
  let wrong = ''
  const before = bed.cpuUs(service)
  const ownBefore = treeCpuUs(service.pid)
  const startedAt = performance.now()
  await sendAll(service.port, CONNECTIONS, {
    requests,
    onAnswer: ({ status, body }) => {
      if (status !== 200 || !body.includes('"status":"allowed"')) wrong = `${status} ${body.slice(0, 300)}`
    },
  })
  const seconds = (performance.now() - startedAt) / 1_000
  if (wrong !== '') throw new Error(`an action was not allowed: ${wrong}`)
  const { length } = requests
  return {
    cpu: (bed.cpuUs(service) - before) / length,
    own: (treeCpuUs(service.pid) - ownBefore) / length,
    rate: length / seconds,
  }
}
