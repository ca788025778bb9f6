import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import {
  type Enrolled,
  openStream,
  type Replica,
  type StreamClient,
  send,
  startWorld,
  type World,
} from './harness.ts'

const PER_SECOND = 5
const STREAMS = 20
let world: World
let replica: Replica
let gateway: Enrolled
beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica({ greetingsPerSecond: PER_SECOND })
  gateway = await replica.enrol('default/local')
})
afterAll(() => world?.stop())

type Attempt = { readonly status: number; readonly retryAfterS: number | null; close(): void }

async function attempt(processId: string, token = gateway.token): Promise<Attempt> {
  const abort = new AbortController()
  const headers = { authorization: `Bearer ${token}`, 'x-process-id': processId }
  const response = await fetch(`${replica.url}/api/gateway/stream`, { headers, signal: abort.signal })
  const value = response.headers.get('retry-after')
  return {
    status: response.status,
    retryAfterS: value === null ? null : Number(value),
    close: () => abort.abort(),
  }
}

/** Attempts to open streams one after the other, faster than they are admitted, until `end`. */
function startStorm() {
  const ended = new AbortController()
  async function run(): Promise<void> {
    const attempts: Attempt[] = []
    while (!ended.signal.aborted) {
      attempts.push(await attempt(`proc_again_${attempts.length}`))
      await delay(100)
    }
    for (const { close } of attempts) close()
  }
  const running = run()
  return {
    async end() {
      ended.abort()
      await running
    },
  }
}

/** Opens a stream as a gateway does: waits for `Retry-After` when the control plane refuses it. */
async function persist(processId: string): Promise<StreamClient> {
  return eventually('an admitted stream', () => openStream(replica, gateway, { processId }).catch(() => null))
}

describe('a storm of streams', () => {
  test('is admitted at a bounded rate; the others get 503 with the time of their slot', async () => {
    const attempts = await Promise.all(Array.from({ length: STREAMS }, (_, n) => attempt(`proc_storm_${n}`)))
    const refused = attempts.filter(({ status }) => status === 503)
    // The bucket may refill by some tokens while the attempts arrive.
    expect(attempts.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(PER_SECOND)
    expect(refused.length).toBeGreaterThan(0)
    for (const { retryAfterS } of refused) expect(retryAfterS).toBeGreaterThan(0)
    for (const { close } of attempts) close()
  })

  test('does not use up the slots of gateways with calls that do not authenticate', async () => {
    const stream = await persist('proc_before')
    const attempts = await Promise.all(
      Array.from({ length: STREAMS }, (_, n) => attempt(`proc_forged_${n}`, 'not-a-token')),
    )
    expect(new Set(attempts.map(({ status }) => status))).toEqual(new Set([401]))
    stream.close()
  })

  test('gives each admitted stream its kill state and beat at once, and its sections after the storm', async () => {
    const storm = startStorm()
    const stream = await persist('proc_served')
    const order = () => stream.messages.map(({ type }) => type)
    await stream.next('beat')
    expect(order().indexOf('kill')).toBeLessThan(order().indexOf('sections'))
    const { sections } = await stream.next('sections')
    const path = `/api/gateway/sections/gateway?hash=${sections['gateway']}`
    const status = { url: 'http://127.0.0.1:8787', version: '0', applied_version: null, agents: 0 }
    const report = { ...status, uptime_seconds: 1, journal: { state: 'ok', pending: 0, bytes: 0 } }
    const answered: string[] = []
    const section = send(replica.url + path, 'GET', {
      authorization: `Bearer ${gateway.token}`,
      'x-process-id': 'proc_served',
    }).then(({ status: code }) => answered.push(`section ${code}`))
    await replica.gateway(gateway, 'POST', '/api/gateway/status', report, 'proc_served')
    answered.push('status')
    await storm.end()
    await section
    expect(answered).toEqual(['status', 'section 200'])
    stream.close()
  })
})
