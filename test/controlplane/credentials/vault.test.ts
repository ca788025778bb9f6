import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cliProgram } from '../../support/cli-program.ts'
import { OPERATOR_TOKEN, startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at, type Call, caller } from '../routes/start.ts'

let here: TestInstallation
let operator: Call
let generation = 0

beforeAll(async () => {
  here = await startTestInstallation()
  operator = caller(here.plane.url, { authorization: `Bearer ${OPERATOR_TOKEN}` })
  await put('Gateway', 'local', {})
})
afterAll(() => here?.[Symbol.asyncDispose]())

const PATH = '/api/dashboard/credentials'
const set = (name: string, secret: string) => here.admin('PUT', PATH, { name, secret })
const remove = (name: string) => here.admin('DELETE', `${PATH}?name=${encodeURIComponent(name)}`)

async function put(kind: string, name: string, spec: object, extra: object = {}) {
  generation += 1
  const { status, body, text } = await operator('PUT', `/api/operator/objects/${kind}/default/${name}`, {
    ...{ uid: `uid-${kind}-${name}`, generation, source: 'file', managed_by: '10-codehost.yaml', ...extra },
    resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace: 'default' }, spec },
  })
  expect(status, text).toBe(200)
  return body
}

async function view(name: string): Promise<Record<string, unknown>> {
  const { body } = await here.admin('GET', '/api/dashboard/connectors')
  const found = at<Record<string, unknown>[]>(body, 'connectors').find((row) => row['name'] === name)
  if (found === undefined) throw new Error(`no connector ${name}`)
  return found
}

test('a credential that a manifest names is stored, replaced and deleted over the API, and the manifest stays in force', async () => {
  const spec = { type: 'codehost', credential: { vault: 'codehost' } }
  expect(await put('Connector', 'codehost', spec)).toMatchObject({ accepted: true, warnings: [] })
  expect(await view('default/codehost')).toMatchObject({
    has_token: false,
    credential: { source: 'vault', name: 'codehost', remedy: null },
  })
  for (const secret of ['ghp_canary_1', 'ghp_canary_2\n']) {
    const answer = await set('codehost', secret)
    expect(answer.body).toEqual({ ok: true, name: 'codehost', connectors: ['default/codehost'] })
  }
  expect(await view('default/codehost')).toMatchObject({ has_token: true })
  // A push of the same manifest keeps the credential.
  expect(await put('Connector', 'codehost', spec)).toMatchObject({ accepted: true })
  expect(await view('default/codehost')).toMatchObject({ has_token: true })
  expect((await remove('codehost')).body).toMatchObject({ connectors: ['default/codehost'] })
  expect(await view('default/codehost')).toMatchObject({ has_token: false })
  expect((await remove('codehost')).status).toBe(404)
  const stored = await here.sql('select secret::text from credentials')
  expect(stored).toEqual([])
})

test('the secret is in no reply, no audit event and no column in clear text', async () => {
  const secret = 'ghp_canary_of_the_vault'
  const texts = [(await set('codehost', secret)).text, (await here.admin('GET', PATH)).text]
  const rows = await here.sql(
    `select (select json_agg(c)::text from credentials c) as c, (select json_agg(a)::text from audit_events a) as a,
       (select json_agg(m)::text from manifest_objects m) as m, (select json_agg(n)::text from connectors n) as n`,
  )
  expect(JSON.stringify([texts, rows, here.plane.log()])).not.toContain(secret)
  expect(texts[1]).toContain('"name":"codehost"')
})

test('a credential that is stored before its manifest is in force with the manifest', async () => {
  expect((await set('early', 'sk_canary')).body).toMatchObject({ connectors: [] })
  expect(at((await here.admin('GET', PATH)).body, 'credentials')).toContainEqual({
    ...{ name: 'early', source: 'vault', connectors: [], is_stored: true },
  })
  await put('Connector', 'pay', { type: 'payments', credential: { vault: 'early' } })
  expect(await view('default/pay')).toMatchObject({ has_token: true })
})

test('the name of a Connector stands for the credential that its manifest names', async () => {
  await put('Connector', 'talk', { type: 'chat', credential: { vault: 'bot' } })
  expect((await set('talk', 'xoxb-canary')).body).toMatchObject({ name: 'bot', connectors: ['default/talk'] })
  expect((await set('default/talk', 'xoxb-other')).body).toMatchObject({ name: 'bot' })
})

test('the credential of a Connector of the API is replaced and deleted by the name of the Connector', async () => {
  const made = { type: 'generic', domains: ['a.example.com'], token: 'canary' }
  expect((await here.admin('POST', '/api/dashboard/connectors', made)).status).toBe(200)
  expect((await set('generic', 'another')).body).toMatchObject({ connectors: ['generic'] })
  expect((await remove('generic')).status).toBe(200)
  expect(await view('generic')).toMatchObject({
    ...{ has_token: false, credential: { source: 'connector', name: 'generic', remedy: null } },
  })
})

test('a Connector whose manifest names a Secret, or nothing, is refused with the step that sets its credential', async () => {
  await put('Connector', 'filed', {
    ...{
      type: 'generic',
      domains: ['b.example.com'],
      credential: { secretRef: { name: 'b', key: 'token' } },
    },
  })
  const filed = await set('filed', 'canary')
  expect(filed).toMatchObject({ status: 409 })
  expect(filed.text).toContain('takes its credential from the Secret default/b')
  expect(filed.text).toContain('credential: { vault: filed }')
  await put('Connector', 'bare', { type: 'generic', domains: ['c.example.com'] })
  const bare = await set('bare', 'canary')
  expect(bare).toMatchObject({ status: 409 })
  expect(bare.text).toContain('Add to 10-codehost.yaml: credential: { vault: bare }')
})

test('an object of a cluster that names the store is refused, and gets no credential of it', async () => {
  await set('codehost', 'ghp_canary')
  const cluster = { source: 'kubernetes', managed_by: 'kubernetes Connector default/thief' }
  const spec = { type: 'generic', domains: ['d.example.com'], credential: { vault: 'codehost' } }
  const thief = await put('Connector', 'thief', spec, cluster)
  expect(thief).toMatchObject({
    ...{ accepted: false, problem: 'Invalid' },
    reasons: [expect.stringContaining('in a cluster, create a Secret and name it in secretRef')],
  })
  expect(await here.sql("select 1 from connectors where name = 'default/thief'")).toEqual([])
  const both = { vault: 'codehost', secretRef: { name: 'a', key: 'token' } }
  expect(await put('Connector', 'thief', { ...spec, credential: both }, cluster)).toMatchObject({
    ...{
      accepted: false,
      reasons: ['spec.credential: must have exactly one of secretRef, vault, env, file and exec'],
    },
  })
})

test('a Connector of a cluster names the command that creates its Secret', async () => {
  const spec = {
    type: 'generic',
    domains: ['e.example.com'],
    credential: { secretRef: { name: 'e', key: 'key' } },
  }
  const cluster = { source: 'kubernetes', managed_by: 'kubernetes Connector default/tenant' }
  await put('Connector', 'tenant', spec, cluster)
  const remedy = 'kubectl create secret generic e -n default --from-file=key=/dev/stdin'
  expect(await view('default/tenant')).toMatchObject({
    ...{ credential: { source: 'secret', name: 'default/e', remedy } },
  })
  expect(await set('tenant', 'canary')).toMatchObject({ status: 409, text: expect.stringContaining(remedy) })
})

test('a key that is none of a Secret is refused, so that no command contains text of its author', async () => {
  const spec = {
    type: 'generic',
    domains: ['g.example.com'],
    credential: { secretRef: { name: 'g', key: 'token=/dev/null; id #' } },
  }
  const cluster = { source: 'kubernetes', managed_by: 'kubernetes Connector default/pasted' }
  expect(await put('Connector', 'pasted', spec, cluster)).toMatchObject({
    ...{ accepted: false, problem: 'Invalid' },
    reasons: [expect.stringContaining('must have letters, digits, -, _ and . only')],
  })
  expect(await here.sql("select 1 from connectors where name = 'default/pasted'")).toEqual([])
})

test('a leaked credential is replaced and deleted although a manifest that names it is refused', async () => {
  const spec = { type: 'generic', domains: ['h.example.com'], credential: { vault: 'leaked' } }
  await set('leaked', 'canary-leaked')
  expect(await put('Connector', 'kept', spec)).toMatchObject({ accepted: true })
  expect(await put('Connector', 'kept', { ...spec, domains: [] })).toMatchObject({ accepted: false })
  const inForce = async () => {
    const [row] = await here.sql("select credential from connectors where name = 'default/kept'")
    return row?.['credential']
  }
  const before = await inForce()
  expect(before).not.toBeNull()
  expect((await set('leaked', 'canary-next')).body).toMatchObject({ connectors: ['default/kept'] })
  expect(await inForce()).not.toEqual(before)
  expect(await view('default/kept')).toMatchObject({ has_token: true })
  expect(await remove('leaked')).toMatchObject({ status: 200, body: { connectors: ['default/kept'] } })
  expect(await inForce()).toBeNull()
  expect(await put('Connector', 'kept', spec)).toMatchObject({ accepted: true })
  expect(await view('default/kept')).toMatchObject({ has_token: false })
})

test('a test of a credential that fails with an error has an audit event', async () => {
  await set('codehost', 'ghp_canary')
  const { id } = await view('default/codehost')
  const tested = await here.admin('POST', `${PATH}/test`, { connector_id: id })
  expect(tested.status).toBe(503)
  const { body } = await here.admin('GET', '/api/dashboard/audit?event_type=gateway.updated&limit=1')
  const details = { change: 'credential.tested', connector: 'default/codehost', ok: false, status: null }
  expect(at(body, 'events', 0)).toMatchObject({ details })
  expect((await remove('codehost')).status).toBe(200)
})

test('the token of the approvals bot is refused, and so is a secret with a line break', async () => {
  const token = 'xoxb-canary-of-the-approvals'
  await here.admin('PUT', '/api/dashboard/settings', { settings: { chat_bot_token: token } })
  expect(await set('bot', token)).toMatchObject({ status: 409 })
  expect(await set('bot', 'a\nb')).toMatchObject({ status: 400 })
  expect(await set('bot', ' \n')).toMatchObject({ status: 400 })
})

test('chaperone credential reads the secret from standard input, lists names only, and deletes', async () => {
  const run = async (args: readonly string[], input = '') => {
    const env = { PATH: process.env['PATH'], CHAPERONE_URL: here.plane.url, CHAPERONE_TOKEN: here.adminToken }
    const child = spawn(process.execPath, [cliProgram(), 'credential', ...args], { env })
    child.stdin.end(input)
    const [out, err, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ])
    return { out, err, code }
  }
  await put('Connector', 'shell', {
    ...{ type: 'generic', domains: ['f.example.com'], credential: { vault: 'shell' } },
  })
  expect(await run(['set', 'shell'], 'canary-of-stdin\n')).toEqual({
    ...{ code: 0, err: '', out: 'Credential shell is stored for default/shell.\n' },
  })
  expect(await view('default/shell')).toMatchObject({ has_token: true })
  const listed = await run(['ls'])
  expect(listed.out).toMatch(/^shell +stored +vault +default\/shell$/m)
  expect(listed.out).not.toContain('canary')
  expect(await run(['set', 'shell'])).toMatchObject({
    ...{ code: 2, err: expect.stringContaining('Standard input is empty. Nothing was changed.') },
  })
  expect(await run(['set', 'shell', 'canary'], 'canary')).toMatchObject({ code: 2 })
  expect(await run(['rm', 'shell'])).toMatchObject({
    code: 0,
    out: 'Credential shell is deleted for default/shell.\n',
  })
  expect(await run(['rm', 'shell'])).toMatchObject({
    code: 1,
    err: expect.stringContaining('No credential shell'),
  })
})
