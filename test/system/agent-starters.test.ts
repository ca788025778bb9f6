import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { STARTER_DIR } from '../../controlplane/cli/up/starter-manifests.ts'
import { type AgentRequest, type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { SECRETS, startVendors, type Vendors } from '../support/vendors.ts'

const HOST = 'api.anthropic.com'
const JSON_TYPE = [['Content-Type', 'application/json']] as const

let vendors: Vendors
let laptop: Laptop
let agent: TestAgent
let bin: string

/** The set of a first start, with a key for Anthropic and the stand-in behind it. */
function firstSet(): Record<string, string> {
  const set = Object.fromEntries(
    readdirSync(STARTER_DIR).map((file) => [file, readFileSync(join(STARTER_DIR, file), 'utf8')]),
  )
  const upstream = /^ {2}upstream:\n(?: {4}.*\n)+/m.exec(vendors.manifests)?.[0] ?? ''
  const credential = '  credential: { secretRef: { name: llm, key: llm_b } }\n'
  const secret = `\n---\napiVersion: v1\nkind: Secret\nmetadata: { name: llm }\nstringData: { llm_b: ${SECRETS.anthropic} }\n`
  const llm = set['20-llm.yaml']
    ?.replace(/ {2}type: llm_b\n/, (line) => line + upstream)
    .replace('  credential: { vault: llm-b }\n', credential)
  return { ...set, '20-llm.yaml': llm + secret }
}

beforeAll(async () => {
  vendors = await startVendors()
  laptop = await startLaptop({ database: 'worker', manifests: firstSet() })
  agent = testAgent(laptop)
  bin = mkdtempSync(join(tmpdir(), 'chaperone-bin-'))
  writeFileSync(join(bin, 'claude'), '#!/bin/sh\necho "$CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"\n')
  chmodSync(join(bin, 'claude'), 0o755)
})
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
  rmSync(bin, { recursive: true, force: true })
})

const claude = () =>
  laptop.cli(['run', '--', 'claude'], { env: { PATH: `${bin}${delimiter}${process.env['PATH']}` } })
const seen = () => vendors.recorder.seen.length
const pending = async () => {
  const { body } = await laptop.api('GET', '/api/dashboard/proxy-approvals')
  return body['total']
}

test('run offers the missing starter with a command that works, sets the switch, and offers it no more', async () => {
  const ran = await claude()
  expect(ran).toMatchObject({ code: 0, stdout: '1\n' })
  const offered = /starter policy for Claude Code, .* apply .*-f (\S+claude-code\.yaml)$/m.exec(ran.stderr)
  const applied = await laptop.cli(['apply', '-f', offered?.[1] ?? ''])
  expect(applied.code, applied.stdout + applied.stderr).toBe(0)
  expect(readdirSync(laptop.manifests)).toContain('claude-code.yaml')
  const again = await claude()
  expect(again.stdout).toBe('1\n')
  expect(again.stderr).not.toContain('starter')
})

test('every other starter comes into force beside it, without a warning', async () => {
  const folder = new URL('../../starters/', import.meta.url).pathname
  const applied = await laptop.cli(['apply', '-f', folder])
  expect(applied.code, applied.stdout + applied.stderr).toBe(0)
  expect(applied.stdout + applied.stderr).not.toMatch(/warning|Conflict/i)
})

const HOUSEKEEPING: readonly AgentRequest[] = [
  { method: 'GET', host: HOST, target: '/' },
  { method: 'POST', host: HOST, target: '/api/eval/sdk-1', headers: JSON_TYPE, body: '{}' },
  { method: 'POST', host: HOST, target: '/api/event_logging/v2/batch', headers: JSON_TYPE, body: '{}' },
  { method: 'GET', host: HOST, target: '/api/claude_code/settings' },
  { method: 'GET', host: HOST, target: '/api/claude_code/policy_limits' },
  { method: 'GET', host: HOST, target: '/api/claude_code/organizations/metrics_enabled' },
  { method: 'GET', host: HOST, target: '/api/claude_cli/bootstrap' },
  { method: 'GET', host: HOST, target: '/api/claude_code_penguin_mode' },
  { method: 'GET', host: HOST, target: '/mcp-registry/v0/servers' },
]

test('housekeeping requires no approval, and only requests that need the credential get it', async () => {
  const before = seen()
  for (const request of HOUSEKEEPING) expect((await agent.send(request)).status, request.target).toBe(200)
  expect(seen()).toBe(before + HOUSEKEEPING.length)
  const sent = vendors.recorder.seen
    .slice(before)
    .map((each) => JSON.stringify(each).includes(SECRETS.anthropic))
  expect(sent).toEqual([false, false, false, true, true, true, true, true, false])
  expect(await pending()).toBe(0)
})

test('a call without a name is refused at once, with its reason in the format of the provider', async () => {
  const before = seen()
  for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
    const { status, body } = await agent.json({ method, host: HOST, target: '/api/something_new' })
    expect(status).toBe(403)
    expect(body).toMatchObject({ type: 'error', error: { type: 'permission_error' } })
    expect((body['error'] as { message: string }).message).toMatch(
      /^An approver cannot assess an unknown operation of a model provider\. Permission "\S+", rule "llm_b\.unmapped\.\*", denies llm_b\.unmapped\.\w+\. .*Do not retry; ask the owner of this agent\. \(rec_\w+\)$/,
    )
  }
  expect(seen()).toBe(before)
  expect(await pending()).toBe(0)
})

test('a held request whose client has gone away leaves room and says so', async () => {
  const socket = await agent.tunnel('api.anthropic.com')
  socket.write(
    `POST /v1/files HTTP/1.1\r\nHost: ${HOST}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
  )
  type Card = { readonly action_type: string; readonly left_at: string | null }
  const card = async () => {
    const { body } = await laptop.api('GET', '/api/dashboard/proxy-approvals?status=pending')
    return (body['approvals'] as readonly Card[])[0] ?? null
  }
  expect(await eventually('the question', card)).toMatchObject({
    action_type: 'llm_b.file.upload',
    left_at: null,
  })
  socket.destroy()
  await eventually('that the agent left', async () => ((await card())?.left_at ? true : null))
})
