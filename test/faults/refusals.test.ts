import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HEADERS } from '../../core/wire/schema/limits.ts'
import { agentEntry, FakeControlPlane, TOKEN } from '../sidecar/control/fake-control-plane.ts'
import {
  AGENT_KEY,
  genericConnector,
  PROXY_AUTHORIZATION,
  permission,
  UPSTREAM_HOST,
} from '../sidecar/gateway/gateway-world.ts'
import { bundledProgram } from '../support/bundled-program.ts'
import { eventually } from '../support/eventually.ts'
import { end, serve } from '../support/processes.ts'
import { seeded, size } from '../support/proof.ts'
import { type Recorder, startRecorder } from '../support/recorder.ts'

const MAIN = await bundledProgram('sidecar')
const ROUNDS = size(2, 40)
const CLIENTS = 16
/** Record ids that an answer named, with the number of answers. */
const answered = new Map<string, number>()
let dir = ''
let upstream: Recorder
let fake: FakeControlPlane

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-refusals-'))
  writeFileSync(join(dir, 'enrol.token'), TOKEN)
  upstream = await startRecorder()
  fake = await FakeControlPlane.start()
  const gateway = fake.sections['gateway'] as object
  fake.configure({
    gateway: { ...gateway, rateLimit: { requestsPerMinute: 1_000_000 } },
    agents: [agentEntry('bot', AGENT_KEY)],
    connectors: [genericConnector(upstream.url)],
    'permissions.00': [permission('generic.*', 'deny')],
  })
})
afterAll(async () => {
  await fake?.stop()
  await upstream?.close()
  rmSync(dir, { recursive: true, force: true })
})

const start = () =>
  serve(MAIN, {
    ...{ PORT: '0', CONTROL_PLANE_URL: fake.url, DATA_DIR: dir, WHOLE_REFUSALS_PER_MINUTE: '999999' },
    GATEWAY_TOKEN_FILE: join(dir, 'enrol.token'),
  })

/** Resolves with the record id of the answer; null when the gateway was killed before it. */
function refused(port: number, path: string): Promise<string | null> {
  return new Promise((resolve) => {
    const headers = { host: UPSTREAM_HOST, 'proxy-authorization': PROXY_AUTHORIZATION }
    const target = `http://${UPSTREAM_HOST}${path}`
    const options = { host: '127.0.0.1', port, agent: false, path: target, headers }
    const request = httpRequest(options, (response) => {
      const id = response.headers[HEADERS.recordId.toLowerCase()]
      expect(response.statusCode).toBe(403)
      resolve(String(id))
      response.resume()
      response.once('error', () => undefined)
    })
    request.once('error', () => resolve(null))
    request.end()
  })
}

/** Kills the gateway as soon as a number of refusals were answered, so that the last ones are as recent as possible. */
async function round(random: () => number): Promise<void> {
  const { child, port } = await start()
  const gone = once(child, 'exit')
  let left = 20 + Math.floor(random() * 200)
  const client = async (name: number) => {
    for (let n = 0; ; n++) {
      const id = await refused(port, `/things/${name}-${n}`)
      if (id === null) return
      answered.set(id, (answered.get(id) ?? 0) + 1)
      left--
      if (left === 0) child.kill('SIGKILL')
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, (_, name) => client(name)))
  await gone
}

test(
  'a gateway that is killed has a record of every refusal that it answered',
  async () => {
    const random = seeded(11)
    for (let n = 0; n < ROUNDS; n++) await round(random)
    const last = await start()
    try {
      const missing = () => {
        const ids = new Set(fake.records.map(({ id }) => id))
        return [...answered.keys()].filter((id) => !ids.has(id))
      }
      // The last upload ends with records of the last process that answered.
      await refused(last.port, '/last').then((id) =>
        eventually('the record of a later refusal', () =>
          fake.records.some((record) => record.id === id) ? true : null,
        ),
      )
      expect(missing()).toEqual([])
      expect(answered.size).toBeGreaterThan(ROUNDS * 20)
      expect(upstream.seen).toEqual([])
    } finally {
      await end(last.child)
    }
  },
  size(90_000, 600_000),
)
