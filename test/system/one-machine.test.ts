import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noNamespaces } from '../capture/network.ts'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { cliProgram } from '../support/cli-program.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import type { CommandResult } from '../support/run-command.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'

const CLI = cliProgram()
const OWNER = 'ada@example.com'
const PASSWORD = 'correct horse battery'
const NEXT = 'a staple for every horse'

let vendors: Vendors
let laptop: Laptop
let agent: TestAgent
let ownerLink = ''

beforeAll(async () => {
  vendors = await startVendors()
  laptop = await startLaptop({
    isCaptured: true,
    manifests: { 'vendors.yaml': vendors.manifests },
    approvals: 'session',
  })
  agent = testAgent(laptop)
})
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
})

const seen = () => vendors.recorder.seen.length
const said = ({ stdout, stderr }: CommandResult) => stdout + stderr

function merge(title: string) {
  return agent.json({
    method: 'PUT',
    host: 'api.github.com',
    target: '/repos/acme/site/pulls/7/merge',
    headers: [['Content-Type', 'application/json']],
    body: JSON.stringify({ commit_title: title }),
  })
}

/** The id of the only pending approval. */
function pendingId(): Promise<string> {
  return eventually('a pending approval', async () => {
    const { body } = await laptop.api('GET', '/api/dashboard/proxy-approvals?status=pending')
    return (body['approvals'] as { id: string }[])[0]?.id ?? null
  })
}

function register(extra: Record<string, string> = {}, email = OWNER) {
  const body = { email, password: PASSWORD, name: 'Ada', ...extra }
  return post('/api/auth/register', {}, body)
}

async function post(path: string, headers: Record<string, string>, body: unknown) {
  const answer = await fetch(new URL(path, laptop.ready.base_url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: answer.status, text: await answer.text() }
}

function signIn(password = PASSWORD): Promise<CommandResult> {
  return laptop.cli(['login', '--email', OWNER], { input: `${password}\n` })
}

describe('the first owner', () => {
  test('registers through the link only once an agent was started; run prints it to no log, and owner-link does', async () => {
    const ran = await laptop.cli(['run', '--', 'true'])
    expect(ran).toMatchObject({ code: 0, stdout: '' })
    expect(ran.stderr).toMatch(/no owner yet\. Become the owner: \S+ owner-link/)
    expect(ran.stderr).not.toContain('/setup?token=')
    const made = await laptop.cli(['owner-link', '--json'])
    expect(JSON.parse(made.stdout)).toEqual({ owner_link: expect.stringMatching(/token=[\w-]{43}$/) })
    ownerLink = (JSON.parse(made.stdout) as { owner_link: string }).owner_link
    expect(ownerLink).toContain(`${laptop.ready.base_url}/setup?token=`)
    expect(ownerLink).not.toBe(laptop.ready.owner_link)
    for (const name of readdirSync(join(laptop.data, 'logs')))
      expect(readFileSync(join(laptop.data, 'logs', name), 'utf8')).not.toContain('/setup?token=')
    for (const extra of [{}, { setup_token: '' }, { setup_token: 'x'.repeat(43) }, { invite_token: 'x' }])
      expect((await register(extra)).status).toBe(403)
    // The agent itself, from inside.
    const script = `fetch('${laptop.ready.base_url}/api/auth/register', { method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'agent@example.com', password: '${PASSWORD}', name: 'a' }) })
      .then((answer) => console.log(answer.status))`
    const inside = await laptop.cli(['run', '--', process.execPath, '-e', script])
    expect(inside.stdout.trim()).toBe('403')
    const { body } = await laptop.api('GET', '/api/dashboard/users')
    expect(body['users']).toEqual([])
    const token = new URL(ownerLink).searchParams.get('token') ?? ''
    expect((await register({ setup_token: token })).status).toBe(200)
    expect(said(await laptop.cli(['run', '--', 'true']))).not.toContain('/setup?token=')
    expect(await laptop.cli(['owner-link'])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('has an owner'),
    })
  })
})

describe('once there is an owner', () => {
  test('no token of the data folder answers an approval, and the refusal names the remedy', async () => {
    const before = seen()
    const held = merge('by a token')
    const id = await pendingId()
    for (const verb of ['approve', 'deny']) {
      const refused = await laptop.cli(['approvals', verb, id])
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('chaperone login') })
    }
    const files = ['admin.token', 'gateway.token', 'keys/operator.token', 'keys/enrol.token']
    const internal = `${laptop.ready.gateway_url}/internal/approvals/respond`
    const attempts: readonly (readonly [string, unknown])[] = [
      ['/api/dashboard/proxy-approvals', { id, approved: true }],
      [`/api/v1/approvals/${id}/respond`, { decision: 'approve' }],
      [internal, { id, approved: true, by: OWNER }],
      ['/api/dashboard/users', { action: 'invite', email: 'agent@example.com', role: 'owner' }],
      ['/api/auth/keys', {}],
      ['/api/auth/password', { current_password: 'x', new_password: PASSWORD }],
      ['/api/dashboard/permissions', {}],
      ['/api/dashboard/import', {}],
    ]
    for (const file of files) {
      const token = readFileSync(join(laptop.data, file), 'utf8').trim()
      for (const [path, body] of attempts) {
        const headers = { authorization: `Bearer ${token}`, 'x-process-id': 'proc_x' }
        const { status, text } = await post(path, headers, body)
        expect([401, 403], `${file} at ${path}: ${text}`).toContain(status)
      }
    }
    const gatewayToken = readFileSync(join(laptop.data, 'gateway.token'), 'utf8').trim()
    const answer = await post(internal, { authorization: `Bearer ${gatewayToken}` }, attempts[2]?.[1])
    expect(answer).toMatchObject({ status: 403, text: expect.stringContaining('chaperone login') })
    expect(seen()).toBe(before)
    expect(await laptop.cli(['login', '--email', OWNER], { input: `${PASSWORD}\n` })).toMatchObject({
      code: 0,
    })
    expect(await laptop.cli(['approvals', 'approve', id])).toMatchObject({ code: 0 })
    expect((await held).status).toBe(200)
    expect(seen()).toBe(before + 1)
    expect(await laptop.cli(['logout'])).toMatchObject({ code: 0 })
  })

  test('stops need the token alone, and a person lifts them', async () => {
    expect(await laptop.cli(['kill', 'on', '--reason', 'test'])).toMatchObject({ code: 0 })
    const refused = await laptop.cli(['kill', 'off'])
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('chaperone login') })
    expect((await merge('stopped')).status).toBe(403)
    await signIn()
    expect(await laptop.cli(['kill', 'off'])).toMatchObject({ code: 0 })
    await laptop.cli(['logout'])
  })

  test('suspended agents are activated by a person', async () => {
    expect(await laptop.cli(['agent', 'create', 'triage'])).toMatchObject({ code: 0 })
    expect(await laptop.cli(['agent', 'suspend', 'triage'])).toMatchObject({ code: 0 })
    expect(await laptop.cli(['agent', 'activate', 'triage'])).toMatchObject({ code: 1 })
    await signIn()
    expect(await laptop.cli(['agent', 'activate', 'triage'])).toMatchObject({ code: 0 })
    await laptop.cli(['logout'])
  })
})

describe('the session of the command line', () => {
  const file = () => join(laptop.data, '..', 'state', 'chaperone', 'sessions.json')

  test('is kept in the home (0600), without the password, and ends with the logout', async () => {
    const done = await signIn()
    expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining(`Signed in as ${OWNER} (owner)`) })
    expect(statSync(file()).mode & 0o777).toBe(0o600)
    expect(readFileSync(file(), 'utf8')).not.toContain(PASSWORD)
    const [{ id }] = Object.values(JSON.parse(readFileSync(file(), 'utf8'))) as [{ id: string }]
    expect(said(done)).not.toContain(id)
    await laptop.cli(['logout'])
    expect(readFileSync(file(), 'utf8')).not.toContain(id)
    const answer = await fetch(`${laptop.ready.base_url}/api/auth/me`, {
      headers: { cookie: `svc_session=${id}` },
    })
    expect(answer.status).toBe(401)
    expect(await laptop.cli(['logout'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('No user is signed in'),
    })
  })

  test('begins also while a program of the machine guesses the password, with the proof of an earlier sign-in', async () => {
    expect(await signIn()).toMatchObject({ code: 0 })
    await laptop.cli(['logout'])
    const guess = () => post('/api/auth/login', {}, { email: OWNER, password: 'a guess of an agent' })
    const statuses: number[] = []
    while (!statuses.includes(429) && statuses.length < 20) statuses.push((await guess()).status)
    expect(statuses).toContain(429)
    expect(await signIn()).toMatchObject({ code: 0 })
    const devices = join(laptop.data, '..', 'state', 'chaperone', 'devices.json')
    expect(statSync(devices).mode & 0o777).toBe(0o600)
    expect(readFileSync(devices, 'utf8')).not.toContain(PASSWORD)
    await laptop.cli(['logout'])
  })

  test.each([
    [[], `nobody@example.com\n${PASSWORD}\n`, 1, 'password is wrong'],
    [['--email', OWNER], 'not the password\n', 1, 'password is wrong'],
    [['--email', OWNER], '', 2, 'Standard input ended'],
  ])('does not begin by login %j with the input %j', async (args, input, code, why) => {
    const refused = await laptop.cli(['login', ...args], { input })
    expect(refused).toMatchObject({ code, stderr: expect.stringContaining(why) })
    expect(said(refused)).not.toContain('not the password')
  })
})

describe('chaperone user reset-password', () => {
  const reset = (email: string, input: string) => laptop.cli(['user', 'reset-password', email], { input })

  test.each([
    [OWNER, 'short\nshort\n', 2, '12 to 1024 characters'],
    [OWNER, `${NEXT}\n${NEXT}x\n`, 2, 'differ'],
    [OWNER, '', 2, 'Standard input ended'],
    ['nobody@example.com', `${NEXT}\n${NEXT}\n`, 1, 'No user has'],
  ])('of %s with the input %j is refused', async (email, input, code, why) => {
    expect(await reset(email, input)).toMatchObject({ code, stderr: expect.stringContaining(why) })
  })

  test('changes nothing when it is refused', async () => {
    expect(await signIn()).toMatchObject({ code: 0 })
  })

  test('sets the password, ends sessions and keys, and leaves an audit event', async () => {
    await signIn()
    const { body } = await laptop.api('GET', '/api/dashboard/users')
    const [{ id }] = body['users'] as [{ id: string }]
    expect(await reset(OWNER, `${NEXT}\n${NEXT}\n`)).toMatchObject({ code: 0 })
    const ended = await laptop.cli(['approvals', 'ls'])
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('chaperone login') })
    expect(await signIn()).toMatchObject({ code: 1 })
    expect(await signIn(NEXT)).toMatchObject({ code: 0 })
    const audit = await laptop.api('GET', '/api/dashboard/audit?event_type=user.password_reset')
    expect(audit.body['events']).toEqual([
      expect.objectContaining({ details: expect.objectContaining({ email: OWNER, user_id: id }) }),
    ])
    expect(JSON.stringify(audit.body)).not.toContain(NEXT)
  })

  test.skipIf(noNamespaces() !== null)('is refused inside run --capture', async () => {
    const command = [process.execPath, CLI, 'user', 'reset-password', OWNER, '--data', laptop.data]
    const ran = await laptop.cli(['run', '--capture', '--', ...command], {
      input: `${PASSWORD}\n${PASSWORD}\n`,
    })
    expect(ran.code).not.toBe(0)
    expect(ran.stderr).toMatch(/refused inside chaperone run --capture/)
    expect(await signIn(NEXT)).toMatchObject({ code: 0 })
  })
})
