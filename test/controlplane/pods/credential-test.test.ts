import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundledProgram } from '../../support/bundled-program.ts'
import { eventually } from '../../support/eventually.ts'
import { databasesFolder } from '../../support/memory-folder.ts'
import { PROGRAM_ENV } from '../../support/program-env.ts'
import { type Recorder, replyJson, startRecorder } from '../../support/recorder.ts'
import { createTestCa } from '../../support/test-ca.ts'
import { at, type Call, register } from '../routes/start.ts'
import { type PodWorld, startPodWorld } from './pod-world.ts'

const SECRET = 'ghp_of_the_secret_in_the_namespace'
const CONNECTOR = 'team/github'

let stack: AsyncDisposableStack
let world: PodWorld
let upstream: Recorder
let owner: Call

/** A cluster's control plane, whose operator pushed a Connector with the credential of its Secret. */
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  const ca = createTestCa()
  upstream = stack.use(await startRecorder({ tls: ca.issue('api.github.com') }))
  world = stack.use(await startPodWorld())
  await world.apply('Gateway', 'team', 'gateway', {})
  const at127 = { url: `https://127.0.0.1:${upstream.port}`, caBundle: ca.cert, allowPrivateAddresses: true }
  const credential = { secretRef: { name: 'github', key: 'token' } }
  const spec = { type: 'codehost', gatewayRefs: [{ name: 'gateway' }], upstream: at127, credential }
  await world.apply('Connector', 'team', 'github', spec, SECRET)
  const rules = [{ connectorType: 'codehost', actionPattern: 'codehost.issue.*', decision: 'allow' }]
  await world.apply('Permission', 'team', 'bot', {
    gatewayRefs: [{ name: 'gateway' }],
    agents: ['team/bot'],
    rules,
  })
  await register(world.plane.call, 'owner@example.com')
  owner = await world.plane.signIn('owner@example.com')
})
afterAll(() => stack?.disposeAsync())

/** Starts the program of the sidecar with the projected token of a pod, as the kubelet does. */
async function startSidecar(agent: string): Promise<AsyncDisposable> {
  const pod = world.pod({ name: agent.replace('/', '-') })
  await world.report({ pod, agent })
  const dir = mkdtempSync(join(databasesFolder(), 'chaperone-sidecar-'))
  writeFileSync(join(dir, 'token'), world.kube.tokenOf(pod), { mode: 0o600 })
  const child = fork(await bundledProgram('sidecar'), {
    env: {
      ...PROGRAM_ENV,
      ...{ PORT: '0', CONTROL_PLANE_URL: world.plane.url },
      ...{ GATEWAY_TOKEN_FILE: join(dir, 'token'), DATA_DIR: dir },
    },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  const exit = once(child, 'exit')
  await Promise.race([
    once(child, 'message'),
    exit.then(([code]) => {
      throw new Error(`the sidecar ended with ${code}`)
    }),
  ])
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await exit
      rmSync(dir, { recursive: true })
    },
  }
}

async function connectorId(): Promise<string> {
  const { body } = await owner('GET', '/api/dashboard/connectors')
  const rows = at<ReadonlyArray<{ readonly id: string; readonly name: string }>>(body, 'connectors')
  return rows.find(({ name }) => name === CONNECTOR)?.id ?? ''
}

async function testCredential() {
  return owner('POST', '/api/dashboard/credentials/test', { connector_id: await connectorId() })
}

const NO_HOLDER = `No connected gateway has the credential of the connector ${CONNECTOR}.`

test('without a pod whose agent may use the connector its credential is not tested, and nothing is sent', async () => {
  for (const agents of [[], ['team/stranger']]) {
    await using stack = new AsyncDisposableStack()
    for (const agent of agents) stack.use(await startSidecar(agent))
    const { status, body } = await testCredential()
    expect([status, body['message']]).toEqual([503, expect.stringContaining(NO_HOLDER)])
    expect(upstream.seen).toHaveLength(0)
  }
})

test('the sidecar of an agent with the permission tests the credential of a Secret, and says whose it is', async () => {
  await using _holder = await startSidecar('team/bot')
  // A sidecar has no credential that its agent cannot use. This one connected last.
  await using _stranger = await startSidecar('team/stranger')
  upstream.answerWith(replyJson({ login: 'octo-release' }))
  const { status, body } = await testCredential()
  expect([status, body]).toEqual([
    200,
    {
      ...{ ok: true, identity: 'octo-release', status: 200 },
      detail: 'The provider accepted the credential. Its owner is octo-release.',
    },
  ])
  expect(upstream.seen.map((seen) => [seen.method, seen.target, seen.header('authorization')])).toEqual([
    ['GET', '/user', `token ${SECRET}`],
  ])
  const [record] = await eventually('the record', async () => {
    const rows = await world.sql("select * from traffic where note = 'credential_test'")
    return rows.length > 0 ? rows : null
  })
  expect(record).toMatchObject({ agent: null, decision: 'ALLOW', status: 200 })

  upstream.answerWith(replyJson({ message: 'Bad credentials' }, 401))
  const refused = (await testCredential()).body
  expect(refused).toMatchObject({
    ...{ ok: false, identity: null, status: 401 },
    detail: expect.stringContaining('The provider refused the credential'),
  })
  expect(JSON.stringify([body, refused])).not.toContain(SECRET)
})
