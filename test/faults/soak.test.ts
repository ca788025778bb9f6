import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { PROCESS_HEADER, SYNC_PATHS } from '../../core/wire/gateway/sync.ts'
import { agentEntry } from '../sidecar/control/fake-control-plane.ts'
import { AGENT_KEY } from '../sidecar/gateway/gateway-world.ts'
import { trafficRecord } from '../sidecar/journal/traffic-record.ts'
import { type ControlPlaneProcess, startControlPlaneProcess } from '../support/control-plane-process.ts'
import { eventually } from '../support/eventually.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { size } from '../support/proof.ts'
import { workerPostgres } from '../support/worker-postgres.ts'
import { startFaultWorld } from './fault-world.ts'

/** Measurements after 5, 10, 15 and 20 minutes in the full proof. */
const SAMPLES = 4
const SAMPLE_MS = size(1_000, 300_000)
/** A short run measures caches that still fill. */
const MAX_GROWTH_MIB = size(32, 2)
const TIMEOUT_MS = size(120_000, 1_500_000)
const PROBE = new URL('../support/memory-probe.ts', import.meta.url).pathname

let dir = ''
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-soak-'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

type Sample = { readonly heapUsed: number; readonly external: number }

/** Returns the heap and the external memory of a process with the probe, in MiB, after a forced collection. */
async function memoryOf(pid: number): Promise<number> {
  const file = join(dir, `${pid}.json`)
  rmSync(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  const { heapUsed, external } = await eventually('the memory of a process', () => {
    try {
      return JSON.parse(readFileSync(file, 'utf8')) as Sample
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
  })
  return (heapUsed + external) / 1_048_576
}

async function expectFlat(name: string, pid: number): Promise<void> {
  const samples: number[] = []
  for (let n = 0; n < SAMPLES; n++) {
    await sleep(SAMPLE_MS)
    samples.push(await memoryOf(pid))
  }
  const [first = 0, ...later] = samples
  console.log(`${name}: ${samples.map((each) => each.toFixed(1)).join(', ')} MiB`)
  expect(Math.max(...later) - first).toBeLessThanOrEqual(MAX_GROWTH_MIB)
}

/** Repeats work until the returned function is called, which resolves when the last work has ended. */
function repeat(work: (n: number) => Promise<unknown>): () => Promise<void> {
  let isOver = false
  const running = (async () => {
    for (let n = 0; !isOver; n++) await work(n)
  })()
  return async () => {
    isOver = true
    await running
  }
}

test('heap and external memory of a gateway stay flat under calls, refusals, holds, changes and lost streams', {
  timeout: TIMEOUT_MS,
}, async () => {
  await using world = await startFaultWorld({ NODE_OPTIONS: `--import ${PROBE}`, MEMORY_PROBE_DIR: dir })
  world.load.resume()
  const stop = repeat(async (n) => {
    world.fake.configure({ agents: [agentEntry('bot', AGENT_KEY), agentEntry(`other-${n}`)] })
    if (n % 5 === 0) world.fake.dropStreams()
    await sleep(1_000)
  })
  await world.load.served(10)
  await expectFlat('gateway', world.pid)
  await stop()
  await world.load.pause()
})

const ENROL_TOKEN = 'enrolment-token-of-the-soak'

async function startPlane(postgres: TestPostgres): Promise<ControlPlaneProcess> {
  const enrol = join(dir, 'enrol.token')
  writeFileSync(enrol, ENROL_TOKEN)
  const env = {
    DATABASE_URL: (await postgres.createMigratedDatabase()).url,
    MASTER_KEY: randomBytes(32).toString('hex'),
    ADMIN_TOKEN_FILE: join(dir, 'admin.token'),
    LOCAL_GATEWAY_TOKEN_FILE: enrol,
    MEMORY_PROBE_DIR: dir,
    LOG_LEVEL: 'error',
  }
  return startControlPlaneProcess(env, PROBE)
}

type Call = {
  readonly token: string
  readonly path: string
  readonly body?: unknown
  readonly process?: string
}

async function call({ url }: ControlPlaneProcess, { token, path, body, process: id }: Call): Promise<number> {
  const response = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      ...(id === undefined ? {} : { [PROCESS_HEADER]: id }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  await response.arrayBuffer()
  return response.status
}

const PROCESSES = 20
const PAGES = ['/api/dashboard/overview', '/api/dashboard/traffic?limit=50', '/api/dashboard/audit?limit=50']

/** Opens a stream of a gateway process for a while. */
async function stream(plane: ControlPlaneProcess, n: number): Promise<void> {
  const abort = new AbortController()
  const headers = { authorization: `Bearer ${ENROL_TOKEN}`, [PROCESS_HEADER]: `proc_soak_${n % PROCESSES}` }
  const response = await fetch(plane.url + SYNC_PATHS.stream, { headers, signal: abort.signal })
  await response.body?.getReader().read()
  await sleep(200)
  abort.abort()
}

function startPlaneLoad(plane: ControlPlaneProcess, statuses: Set<number>) {
  const admin = readFileSync(join(dir, 'admin.token'), 'utf8').trim()
  const note = async (work: Promise<number>) => void statuses.add(await work)
  let seq = 0
  const records = () =>
    Array.from({ length: 20 }, () => {
      const process_id = `proc_soak_${seq % PROCESSES}`
      return trafficRecord({ id: `rec_soak_${seq}`, seq: seq++, process_id, time: new Date().toISOString() })
    })
  const changed = (n: number) => ({
    ...{ gateway_name: 'local', connector_type: 'codehost', action_pattern: 'codehost.issue.create' },
    ...{ decision: n % 2 === 0 ? 'allow' : 'deny' },
  })
  const stops = [
    repeat((n) => stream(plane, n)),
    repeat(async () => {
      const body = { records: records(), lost: [] }
      await note(call(plane, { token: ENROL_TOKEN, path: SYNC_PATHS.records, body, process: 'proc_soak_0' }))
      await sleep(50)
    }),
    repeat(async (n) => {
      await note(call(plane, { token: admin, path: PAGES[n % PAGES.length] ?? '' }))
      await sleep(100)
    }),
    repeat(async (n) => {
      await note(call(plane, { token: admin, path: '/api/dashboard/permissions', body: changed(n) }))
      await sleep(1_000)
    }),
  ]
  return async () => void (await Promise.all(stops.map((stop) => stop())))
}

test('heap and external memory of the control plane stay flat under streams, uploads, pages and changes', {
  timeout: TIMEOUT_MS,
}, async () => {
  const postgres = await workerPostgres()
  const plane = await startPlane(postgres)
  const statuses = new Set<number>()
  const stop = startPlaneLoad(plane, statuses)
  try {
    await expectFlat('control plane', plane.pid)
  } finally {
    await stop()
    await plane.stop()
    await postgres.stop()
  }
  expect([...statuses]).toEqual([200])
})
