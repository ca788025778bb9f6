import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentEntry, FakeControlPlane, TOKEN } from '../sidecar/control/fake-control-plane.ts'
import {
  AGENT_KEY,
  genericConnector,
  PROXY_AUTHORIZATION,
  permission,
  UPSTREAM_HOST,
} from '../sidecar/gateway/gateway-world.ts'
import { bundledProgram } from '../support/bundled-program.ts'
import { end } from '../support/processes.ts'
import { size } from '../support/proof.ts'
import { type Recorder, startRecorder } from '../support/recorder.ts'

const MAIN = await bundledProgram('sidecar')
const OTHER_KEY = `${AGENT_KEY.slice(0, -1)}z`
const OTHER = `Basic ${Buffer.from(`other:${OTHER_KEY}`).toString('base64')}`
const DESCRIPTORS = 256
const IDLE = size(60, 300)
const REQUESTS = size(30, 2_000)
let dir = ''
let upstream: Recorder
let fake: FakeControlPlane
let gateway: { readonly child: ChildProcess; readonly port: number }
const idle: Socket[] = []

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-descriptors-'))
  writeFileSync(join(dir, 'enrol.token'), TOKEN)
  upstream = await startRecorder()
  fake = await FakeControlPlane.start()
  fake.configure({
    gateway: { ...(fake.sections['gateway'] as object), rateLimit: { requestsPerMinute: 1_000_000 } },
    agents: [agentEntry('bot', AGENT_KEY), agentEntry('other', OTHER_KEY)],
    connectors: [genericConnector(upstream.url)],
    'permissions.00': [permission('generic.*', 'allow')],
  })
  gateway = await start()
})
afterAll(async () => {
  for (const socket of idle) socket.destroy()
  if (gateway !== undefined) await end(gateway.child)
  await fake?.stop()
  await upstream?.close()
  rmSync(dir, { recursive: true, force: true })
})

/** Starts a gateway whose descriptor limit is below the number of connections of its clients. */
async function start() {
  const env = {
    PORT: '0',
    CONTROL_PLANE_URL: fake.url,
    DATA_DIR: dir,
    GATEWAY_TOKEN_FILE: join(dir, 'enrol.token'),
  }
  const limit = `--nofile=${DESCRIPTORS}:${DESCRIPTORS}`
  const child = spawn('prlimit', [limit, process.execPath, MAIN], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const [message] = (await once(child, 'message')) as [{ readonly port: number }]
  return { child, port: message.port }
}

/** Opens a connection that sends a request, keeps the connection and sends nothing more. */
async function occupy(n: number): Promise<void> {
  const socket = connect(gateway.port, '127.0.0.1')
  socket.on('error', () => undefined)
  idle.push(socket)
  const head = `GET http://${UPSTREAM_HOST}/idle/${n} HTTP/1.1\r\nHost: ${UPSTREAM_HOST}\r\n`
  socket.write(`${head}Proxy-Authorization: ${PROXY_AUTHORIZATION}\r\n\r\n`)
  await Promise.race([once(socket, 'data'), once(socket, 'close')])
}

function status(path: string, authorization: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { host: UPSTREAM_HOST, 'proxy-authorization': authorization }
    const options = { host: '127.0.0.1', port: gateway.port, agent: false, path, headers }
    const request = httpRequest(options, (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode ?? 0))
    })
    request.once('error', reject)
    request.end()
  })
}

test('clients that keep their connections leave descriptors for the upstream connections of others', async () => {
  for (let n = 0; n < IDLE; n++) await occupy(n)
  for (let n = 0; n < REQUESTS; n++) {
    expect(await status(`http://${UPSTREAM_HOST}/things/${n}`, OTHER)).toBe(200)
    // The agent is at its limit: its connection is refused before anything is sent, not by a failed upstream connection.
    if (n % 10 === 0) expect(await status(`http://${UPSTREAM_HOST}/own/${n}`, PROXY_AUTHORIZATION)).toBe(503)
  }
  const targets = upstream.seen.map(({ target }) => target)
  expect(targets.filter((target) => target.startsWith('/things/'))).toHaveLength(REQUESTS)
  expect(targets.filter((target) => target.startsWith('/own/'))).toEqual([])
})
