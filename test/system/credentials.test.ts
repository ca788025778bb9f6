import { afterAll, beforeAll, expect, test } from 'vitest'
import { at } from '../controlplane/routes/start.ts'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import type { Recorder } from '../support/recorder.ts'
import { keyOf, PROVIDERS, type ProviderName, startStarterProviders } from '../support/starter-providers.ts'

const NAMES = Object.keys(PROVIDERS) as ProviderName[]
let laptop: Laptop
let recorder: Recorder
let agent: TestAgent

beforeAll(async () => {
  const providers = await startStarterProviders()
  recorder = providers.recorder
  laptop = await startLaptop({ database: 'worker', manifests: providers.manifests })
  agent = testAgent(laptop)
})
afterAll(async () => {
  await laptop?.stop()
  await recorder?.close()
})

const read = (name: ProviderName) =>
  agent.json({
    method: 'GET',
    host: PROVIDERS[name].host,
    target: name === 'codehost' ? '/user' : '/v1/models',
  })

async function newest(): Promise<Record<string, unknown>> {
  const { body } = await laptop.api('GET', '/api/dashboard/traffic?limit=1')
  return at(body, 'traffic', 0)
}

test('a first start has every connector in force, and each waits for its credential', async () => {
  const { credentials } = JSON.parse((await laptop.cli(['credential', 'ls', '--json'])).stdout)
  expect(credentials).toEqual(
    [...NAMES].sort().map((name) => ({
      ...{ name, source: 'vault', connectors: [`default/${name}`], is_stored: false },
    })),
  )
  expect((await laptop.cli(['status'])).stdout).toContain('manifests      in force\n')
  expect((await laptop.cli(['doctor'])).stdout).toContain('chaperone credential set codehost')
  const refused = await read('codehost')
  expect(refused).toMatchObject({ status: 403, body: { error: 'connector not ready' } })
  expect(recorder.seen).toHaveLength(0)
  const tested = await laptop.cli(['credential', 'test', 'codehost'])
  expect(tested).toMatchObject({ code: 1, stderr: expect.stringContaining('has no credential to test') })
  expect(recorder.seen).toHaveLength(0)
})

test('a wrong credential is refused by the provider, and the test says so', async () => {
  for (const name of ['codehost', 'chat'] as const) {
    await laptop.cli(['credential', 'set', name], { input: 'wrong' })
    const tested = await eventually('the refusal', async () => {
      const result = await laptop.cli(['credential', 'test', name])
      return result.stdout.includes('refused the credential') ? result : null
    })
    expect(tested).toMatchObject({ code: 1, stderr: '' })
  }
})

test('each credential is set from standard input, tested, and sent with the next request of an agent', async () => {
  const owners = { codehost: 'octo-release', payments: 'Acme (acct_1)', chat: 'deploybot (Acme)' } as Partial<
    Record<ProviderName, string>
  >
  for (const name of NAMES) {
    const set = await laptop.cli(['credential', 'set', name], { input: `${keyOf(name)}\n` })
    expect(set).toMatchObject({ code: 0, stdout: `Credential ${name} is stored for default/${name}.\n` })
    const owner = owners[name]
    const said = `default/${name}: The provider accepted the credential.${owner === undefined ? '' : ` Its owner is ${owner}.`}\n`
    await eventually(`the test of ${name}`, async () =>
      (await laptop.cli(['credential', 'test', name])).stdout === said ? true : null,
    )
    const last = recorder.seen.at(-1)
    expect(last?.header(PROVIDERS[name].header)).toBe(PROVIDERS[name].scheme + keyOf(name))
    // The newest record may still be that of the refused test above.
    const record = await eventually('the record of the accepted test', async () => {
      const row = await newest()
      const isTest =
        row['note'] === 'credential_test' && String(row['action_type']).startsWith(PROVIDERS[name].type)
      return isTest && row['status'] === 200 ? row : null
    })
    expect(record).toMatchObject({ agent: null, decision: 'ALLOW' })
  }
  const { body } = await laptop.api('GET', '/api/dashboard/audit?event_type=gateway.updated&limit=1')
  const details = { change: 'credential.tested', connector: 'default/chat', ok: true, status: 200 }
  expect(at(body, 'events', 0)).toMatchObject({ details })
  expect((await read('codehost')).status).toBe(200)
  expect(recorder.seen.at(-1)?.header('authorization')).toBe(`token ${keyOf('codehost')}`)
})

test('a kill switch stops a test, and nothing is sent', async () => {
  await laptop.cli(['kill', 'on', '--scope', 'connector:default/codehost'])
  const before = recorder.seen.length
  const stopped = await laptop.cli(['credential', 'test', 'codehost'])
  expect(stopped).toMatchObject({ code: 1, stdout: expect.stringContaining('Kill switch active') })
  expect(recorder.seen).toHaveLength(before)
  await laptop.cli(['kill', 'off', '--scope', 'connector:default/codehost'])
  expect((await laptop.cli(['credential', 'test', 'codehost'])).code).toBe(0)
})

test('a deleted credential leaves with no request from then on', async () => {
  expect((await laptop.cli(['credential', 'rm', 'codehost'])).code).toBe(0)
  const before = recorder.seen.length
  const refused = await eventually('the refusal', async () => {
    const answer = await read('codehost')
    return answer.status === 403 ? answer : null
  })
  expect(refused.body).toMatchObject({ error: 'connector not ready' })
  const { seen } = recorder
  expect(
    seen.slice(before).filter((one) => one.header('authorization') !== `token ${keyOf('codehost')}`),
  ).toEqual([])
})
