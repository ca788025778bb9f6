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
