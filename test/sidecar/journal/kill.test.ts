import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundledProgram } from '../../support/bundled-program.ts'
import { eventually } from '../../support/eventually.ts'
import { end, serve } from '../../support/processes.ts'
import { seeded, size } from '../../support/proof.ts'
import { type Recorder, startRecorder } from '../../support/recorder.ts'
import { agentEntry, FakeControlPlane, TOKEN } from '../control/fake-control-plane.ts'
import {
  AGENT_KEY,
  genericConnector,
  PROXY_AUTHORIZATION,
  permission,
  UPSTREAM_HOST,
} from '../gateway/gateway-world.ts'

const MAIN = await bundledProgram('sidecar')
const ROUNDS = size(3, 60)
/** Numbers that a process reserves beyond those that it used. */
const RESERVED = 64

let dir = ''
let upstream: Recorder
let fake: FakeControlPlane

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-kill-'))
  writeFileSync(join(dir, 'enrol.token'), TOKEN)
  upstream = await startRecorder()
  fake = await FakeControlPlane.start()
  const gateway = fake.sections['gateway'] as object
  fake.configure({
    gateway: { ...gateway, audit: 'sync', rateLimit: { requestsPerMinute: 1_000_000 } },
    agents: [agentEntry('bot', AGENT_KEY)],
    connectors: [genericConnector(upstream.url)],
    'permissions.00': [permission('generic.*', 'allow')],
  })
})
afterAll(async () => {
  await fake?.stop()
  await upstream?.close()
  rmSync(dir, { recursive: true, force: true })
})

const start = () =>
  serve(MAIN, {
    ...{ PORT: '0', CONTROL_PLANE_URL: fake.url, DATA_DIR: dir },
    GATEWAY_TOKEN_FILE: join(dir, 'enrol.token'),
  })

/** Answers what the gateway answered; null when it was killed meanwhile. */
function send(port: number, path: string): Promise<number | null> {
  return new Promise((resolve) => {
    const headers = { host: UPSTREAM_HOST, 'proxy-authorization': PROXY_AUTHORIZATION }
    const target = `http://${UPSTREAM_HOST}${path}`
    const options = { host: '127.0.0.1', port, agent: false, path: target, headers }
    const request = httpRequest(options, (response) => {
      response.resume()
      response.once('close', () => resolve(response.statusCode ?? null))
    })
    request.once('error', () => resolve(null))
    request.end()
  })
}

/** Requests from sixteen clients until the gateway is gone; each has a path of its own, some are refused. */
async function load(port: number, round: number, state: { readonly isOver: boolean }): Promise<void> {
  const client = async (name: number) => {
    for (let n = 0; !state.isOver; n++) {
      const isMalformed = n % 7 === 6
      const path = `/things/${round}-${name}-${n}${isMalformed ? '/..%2f' : ''}`
      if ((await send(port, path)) === null) return
    }
  }
  await Promise.all(Array.from({ length: 16 }, (_, name) => client(name)))
}

async function killed(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** Kills the gateway while it serves, at another moment each time: behind the first requests, or much later. */
async function round(n: number, random: () => number): Promise<void> {
  // Requests of the round before may still arrive.
  const seen = () => upstream.seen.filter(({ target }) => target.startsWith(`/things/${n}-`)).length
  const { child, port } = await start()
  const state = { isOver: false }
  const clients = load(port, n, state)
  const wanted = 1 + Math.floor(random() * 120)
  try {
    await eventually('the load', () => (seen() >= wanted ? true : null))
  } finally {
    await killed(child)
    state.isOver = true
  }
  await clients
}

describe('a gateway with audit: sync that is killed under load', () => {
  test(
    'has a record of every request that the upstream saw, and no gap in its numbers that is not reported',
    async () => {
      const random = seeded(7)
      for (let n = 0; n < ROUNDS; n++) await round(n, random)
      const last = await start()
      const known = () => new Set(fake.records.map(({ path }) => path))
      try {
        await eventually('the records of all rounds', () => {
          const paths = known()
          return upstream.seen.every(({ target }) => paths.has(target)) ? true : null
        })
      } finally {
        await end(last.child)
      }
      const processes = new Set(fake.records.map(({ process_id }) => process_id))
      expect(processes.size).toBeGreaterThanOrEqual(ROUNDS)
      for (const id of processes) expectNoGap(id)
    },
    size(60_000, 600_000),
  )
})

/** Every number up to the highest has a record or is reported as lost, none has both, few were only reserved. */
function expectNoGap(id: string): void {
  const seqs = new Set(fake.records.filter(({ process_id }) => process_id === id).map(({ seq }) => seq))
  const lost = new Set(
    fake.lost
      .filter(({ process_id }) => process_id === id)
      .flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, n) => from + n)),
  )
  const highest = Math.max(...seqs)
  for (let seq = 0; seq <= highest; seq++)
    expect(seqs.has(seq) || lost.has(seq), `${id} lacks ${seq}`).toBe(true)
  expect([...lost].filter((seq) => seqs.has(seq))).toEqual([])
  expect([...lost].filter((seq) => seq > highest).length).toBeLessThanOrEqual(RESERVED)
}
