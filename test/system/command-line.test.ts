import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testAgent } from '../support/agent.ts'
import { cliProgram } from '../support/cli-program.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'

const CLI = cliProgram()

let vendors: Vendors
let laptop: Laptop

beforeAll(async () => {
  vendors = await startVendors()
  laptop = await startLaptop({ database: 'worker', manifests: { 'vendors.yaml': vendors.manifests } })
})
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
})

const API = 'https://api.github.com/repos/acme/site'
const curl = (...args: string[]) => ['curl', '-sS', '-o', '/dev/null', '-w', '%{http_code}', ...args]
const createIssue = curl('-d', '{"title":"x"}', '-H', 'content-type: application/json', `${API}/issues`)
const asTriage = (command: readonly string[]) =>
  laptop.program(['run', '--agent', 'triage', '--', ...command])

test('an agent works from its creation until it is suspended or revoked, by the command line alone', async () => {
  expect(await asTriage(['true'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('chaperone agent create triage'),
  })
  const created = await laptop.program(['agent', 'create', 'triage', '--environment', 'production'])
  expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/svc_live_\w{43}/) })
  const key = /svc_live_\w+/.exec(created.stdout)?.[0] ?? ''
  expect(await asTriage(createIssue)).toMatchObject({ code: 0, stdout: '201' })
  expect(vendors.recorder.seen).toHaveLength(1)

  // A connection of its own, because the port outlives the command that asked for it.
  const status = await laptop.program(['status', '--json'])
  const { agents } = JSON.parse(status.stdout) as { agents: { name: string; proxy_url: string }[] }
  const port = testAgent(laptop, agents.find(({ name }) => name === 'triage')?.proxy_url)
  const issue = { method: 'POST', host: 'api.github.com', target: '/repos/acme/site/issues', body: '{}' }
  expect((await port.send(issue)).status).toBe(201)

  expect((await laptop.program(['agent', 'suspend', 'triage'])).code).toBe(0)
  await eventually('the refusal', async () => {
    const answered = await port.send(issue).then(
      ({ status }) => String(status),
      (error: Error) => error.message,
    )
    return answered.startsWith('CONNECT was answered: HTTP/1.1 403') ? true : null
  })
  const seen = vendors.recorder.seen.length
  expect(await asTriage(createIssue)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('chaperone agent activate triage'),
  })
  expect((await laptop.program(['agent', 'activate', 'triage'])).code).toBe(0)
  expect(await asTriage(createIssue)).toMatchObject({ code: 0, stdout: '201' })
  expect(vendors.recorder.seen.length).toBe(seen + 1)

  expect((await laptop.program(['agent', 'revoke', 'triage'])).code).toBe(0)
  expect((await asTriage(createIssue)).code).toBe(1)
  expect(await laptop.program(['agent', 'activate', 'triage'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is revoked permanently'),
  })
  expect((await laptop.program(['agent', 'list'])).stdout).toMatch(/^triage +revoked /m)
  expect(vendors.recorder.seen.length).toBe(seen + 1)
  expect((await laptop.program(['agent', 'list', '--json'])).stdout).not.toContain(key)
})

test('traffic -f shows each request as it comes; a held one is listed, denied by its id, and shown refused', async () => {
  const env = { ...process.env, XDG_STATE_HOME: join(laptop.data, '..', 'state') }
  const following = spawn(process.execPath, [CLI, 'traffic', '-f', '--data', laptop.data], { env })
  let shown = ''
  following.stdout.on('data', (chunk: Buffer) => {
    shown += String(chunk)
  })
  const line = (pattern: RegExp) => eventually(String(pattern), () => pattern.exec(shown)?.[0] ?? null)
  try {
    const before = vendors.recorder.seen.length
    const denied = laptop.program(['run', '--', ...curl('-X', 'DELETE', `${API}/git/refs/heads/x`)])
    await line(/^\S+Z dev codehost\.branch\.delete DENY \d+ms$/m)
    expect((await denied).stdout).toBe('403')

    const held = laptop.program(['run', '--', ...curl('-X', 'PUT', `${API}/pulls/5/merge`)])
    const listed = await eventually('the held request', async () => {
      const { stdout } = await laptop.program(['approvals', 'ls'])
      return /^apv_\S+ +pending +dev +codehost\.pr\.merge +acme\/site /m.exec(stdout)?.[0] ?? null
    })
    const id = listed.split(' ')[0] ?? ''
    expect(await laptop.program(['approvals', 'deny', id, '--note', 'not today'])).toMatchObject({
      ...{ code: 0, stdout: `${id} is denied.\n` },
    })
    expect((await held).stdout).toBe('403')
    await line(/^\S+Z dev codehost\.pr\.merge DENY \d+ms/m)
    expect(await laptop.program(['approvals', 'approve', id])).toMatchObject({ code: 1 })
    expect((await laptop.program(['approvals', 'ls', '--all'])).stdout).toMatch(
      new RegExp(`^${id} +denied `, 'm'),
    )
    expect(vendors.recorder.seen.length).toBe(before)
  } finally {
    following.kill()
  }
})

test('users are invited, listed and their invitations revoked', async () => {
  const invited = await laptop.cli(['user', 'invite', 'ada@example.com', '--role', 'member'])
  const token = /\/setup\?invite=(\S+)&email=ada%40example\.com$/m.exec(invited.stdout)?.[1]
  expect(invited).toMatchObject({ code: 0, stdout: expect.stringContaining('with the role member') })
  expect(token).toMatch(/^\S{20,}$/)
  const listed = await laptop.cli(['user', 'invitations'])
  expect(listed.stdout).toMatch(/^ada@example\.com +member +\S+.* 20\d\d-/m)
  expect(listed.stdout).not.toContain(token)

  expect(await laptop.cli(['user', 'revoke-invitation', 'ada@example.com'])).toMatchObject({
    ...{ code: 0, stdout: 'Invitations for ada@example.com revoked: 1.\n' },
  })
  expect(JSON.parse((await laptop.cli(['user', 'invitations', '--json'])).stdout)).toEqual({
    invitations: [],
  })
  expect(await laptop.cli(['user', 'revoke-invitation', 'ada@example.com'])).toMatchObject({
    ...{ code: 1, stderr: expect.stringContaining('chaperone user invitations') },
  })
  expect(await laptop.cli(['user', 'invite', 'not-an-address'])).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('is not an e-mail address') },
  })
  expect(await laptop.cli(['user', 'list'])).toMatchObject({
    ...{ code: 0, stdout: expect.stringMatching(/^EMAIL +NAME +ROLE/) },
  })
})

test('settings are set, printed and removed, secrets by standard input and masked', async () => {
  const secret = 'ghp_settings_of_the_command_line'
  expect(await laptop.cli(['settings', 'set', 'gateway_url', 'https://gateway.example'])).toMatchObject({
    ...{ code: 0, stdout: 'The setting gateway_url is stored.\n' },
  })
  expect(await laptop.cli(['settings', 'set', 'codehost_pat', secret])).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('on standard input') },
  })
  expect(await laptop.cli(['settings', 'set', 'codehost_pat'], { input: `${secret}\n` })).toMatchObject({
    code: 0,
  })
  const shown = await laptop.cli(['settings', 'get'])
  expect(shown.stdout).toMatch(/^gateway_url +https:\/\/gateway\.example$/m)
  expect(shown.stdout).toMatch(/^codehost_pat +\*{8}$/m)
  expect(await laptop.cli(['settings', 'set', 'gateway_url', 'gateway.example'])).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('is not a URL; give it with https://') },
  })
  for (const key of ['gateway_url', 'codehost_pat'])
    expect((await laptop.cli(['settings', 'unset', key])).code).toBe(0)
  expect((await laptop.cli(['settings', 'get'])).stdout).toMatch(/^codehost_pat +-\ngateway_url +-$/m)
  expect(await laptop.cli(['settings', 'set', 'gatewy_url', 'x'])).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('Did you mean gateway_url?') },
  })
})

test('audit export prints the CSV that the API serves, by its filters', async () => {
  expect((await laptop.cli(['agent', 'create', 'audited'])).code).toBe(0)
  const exported = await laptop.cli(['audit', 'export', '--type', 'agent.registered', '--agent', 'audited'])
  expect(exported.code).toBe(0)
  const [columns, ...events] = exported.stdout.split('\r\n')
  expect(columns).toMatch(/^timestamp,event_type,agent_id,/)
  expect(events).toEqual([expect.stringMatching(/,agent\.registered,agent_/), ''])
  const past = await laptop.cli(['audit', 'export', '--agent', 'audited', '--to', '2020-01-01'])
  expect(past).toMatchObject({ code: 0, stdout: `${columns}\r\n` })
  expect(await laptop.cli(['audit', 'export', '--from', 'yesterday'])).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining(' is not a time with its zone') },
  })
  expect(await laptop.cli(['audit', 'export', '--agent', 'nobody'])).toMatchObject({
    ...{ code: 1, stderr: expect.stringContaining('chaperone agent list') },
  })
})
