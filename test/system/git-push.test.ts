import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keyedAgent, type TestAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Rule, resource } from '../support/every-connector.ts'
import { idOf, packOf, pushBody } from '../support/git-pack.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { IS_FULL } from '../support/proof.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'

/** A real git client, through the gateway, to a real git server. */
const PERSON = ['-c', 'user.name=t', '-c', 'user.email=t@example.com']

/** Permissions by agent. Everybody may fetch. */
const RULES: Readonly<Record<string, ReadonlyArray<readonly [action: string, decision: Rule[2]]>>> = {
  holder: [
    ['git.push', 'require_approval'],
    ['git.force_push', 'require_approval'],
    ['branch.*', 'require_approval'],
  ],
  pusher: [
    ['git.push', 'allow'],
    ['git.force_push', 'deny'],
    ['branch.*', 'deny'],
  ],
  creator: [
    ['git.force_push', 'deny'],
    ['git.push', 'deny'],
    ['branch.create', 'allow'],
    ['branch.delete', 'deny'],
  ],
  reader: [
    ['git.push', 'deny'],
    ['git.force_push', 'deny'],
    ['branch.create', 'deny'],
    ['branch.delete', 'deny'],
  ],
  guarded: [
    ['git.push', 'allow'],
    ['branch.*', 'deny'],
    ['git.force_push', 'deny'],
  ],
}

let folder = ''
let vendors: Vendors
let laptop: Laptop
const agents = new Map<string, TestAgent>()

const bare = () => join(folder, 'git/acme/site.git')
const git = (...args: string[]) =>
  execFileSync('git', [...PERSON, ...args], { stdio: ['ignore', 'pipe', 'ignore'] })
    .toString()
    .trim()
const tip = (branch: string) => git('-C', bare(), 'rev-parse', branch)

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chaperone-push-'))
  git('init', '-q', '--bare', '-b', 'main', bare())
  git('-C', bare(), 'config', 'http.receivepack', 'true')
  git('-C', bare(), 'config', 'receive.fsckObjects', 'true')
  const seed = join(folder, 'seed')
  git('init', '-q', '-b', 'main', seed)
  for (const text of ['one', 'two', 'three']) commit(seed, text)
  git('-C', seed, 'push', '-q', bare(), 'main')
  vendors = await startVendors({ gitRoot: join(folder, 'git') })
  const permissions = Object.entries(RULES).map(([agent, rules]) => {
    const lines = [['git.fetch', 'allow'] as const, ...rules].map(
      ([action, decision]) =>
        `    - { connectorType: codehost, actionPattern: 'codehost.${action}', decision: ${decision} }`,
    )
    return resource(
      'Permission',
      agent,
      `  gatewayRefs: [{ name: local }]\n  agents: ['${agent}']\n  rules:\n${lines.join('\n')}`,
    )
  })
  const guard = resource(
    'Policy',
    'guard',
    `  scope: { agents: [guarded] }\n  rules:\n    - { name: main, conditions: ['parameters.ref == "refs/heads/main"'], decision: deny }\n`,
  )
  laptop = await startLaptop({
    database: 'worker',
    manifests: { 'git.yaml': [vendors.manifests, ...permissions, guard].join('\n---\n') },
  })
  for (const name of Object.keys(RULES)) agents.set(name, await keyedAgent(laptop, name))
})
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
  rmSync(folder, { recursive: true, force: true })
})

function commit(clone: string, text: string): string {
  writeFileSync(join(clone, 'FILE'), `${text}\n`)
  git('-C', clone, 'add', '.')
  git('-C', clone, 'commit', '-q', '-m', text)
  return git('-C', clone, 'rev-parse', 'HEAD')
}

/** A clone made behind the gateway's back. */
function cloneOf(name: string): string {
  const clone = join(folder, `${name}-${randomBytes(4).toString('hex')}`)
  git('clone', '-q', bare(), clone)
  git('-C', clone, 'remote', 'set-url', 'origin', 'https://github.com/acme/site.git')
  return clone
}

/** Runs git as that agent, through its proxy. */
function governed(
  name: string,
  clone: string,
  ...args: string[]
): Promise<{ code: number | null; stderr: string }> {
  const agent = agents.get(name)
  const key = Buffer.from(agent?.target.proxyAuthorization?.split(' ')[1] ?? '', 'base64').toString()
  const { host } = new URL(laptop.ready.gateway_url)
  const child = spawn('git', [...PERSON, '-c', `http.proxy=http://${key}@${host}`, '-C', clone, ...args], {
    env: {
      PATH: process.env['PATH'],
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
      GIT_SSL_CAINFO: laptop.ready.ca_file,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString()
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stderr }))
  })
}

type Card = { id: string; action_type: string; status: string; parameters: Record<string, unknown> }
async function cards(): Promise<readonly Card[]> {
  const { body } = await laptop.api('GET', '/api/dashboard/proxy-approvals')
  return body['approvals'] as Card[]
}

/** The card that the push waits for. A push that ends without one fails at once, with what git printed. */
async function cardOf(pushing: ReturnType<typeof governed>): Promise<Card> {
  const ended = pushing.then(({ code, stderr }) => {
    throw new Error(`git ended with ${code} before there was a card: ${stderr}`)
  })
  const card = eventually(
    'a card',
    async () => (await cards()).find(({ status }) => status === 'pending') ?? null,
  )
  return await Promise.race([card, ended])
}

type Row = {
  id: string
  action_type: string
  decision: string
  method: string
  why: { reason: string } | null
}
async function recordsOf(agent: string, count: number): Promise<readonly Row[]> {
  return eventually(`${count} records of ${agent}`, async () => {
    const { body } = await laptop.api('GET', `/api/dashboard/traffic?limit=500&agent=${agent}`)
    const rows = (body['traffic'] as (Row & { host: string })[]).filter(({ host }) => host === 'github.com')
    return rows.length >= count ? rows : null
  })
}

describe('git push requires one approval', () => {
  test.each([
    ['a small push', 10],
    ['a push that git sends in chunks, behind an empty one', 3 * 1024 * 1024],
  ])('%s: one card, one yes, done', async (_what, fileBytes) => {
    const clone = cloneOf('holder')
    const before = tip('main')
    writeFileSync(join(clone, 'LARGE'), randomBytes(fileBytes))
    const after = commit(clone, `held ${fileBytes}`)
    const known = (await cards()).length
    const pushing = governed('holder', clone, 'push', '-q', 'origin', 'main')
    const card = await cardOf(pushing)
    expect(card).toMatchObject({
      action_type: 'codehost.git.push',
      parameters: { ref: 'refs/heads/main', before, sha: after },
    })
    expect(tip('main')).toBe(before)
    await laptop.api('POST', '/api/dashboard/proxy-approvals', { id: card.id, approved: true })
    const { code, stderr } = await pushing
    expect(stderr).not.toMatch(/fatal|error/)
    expect(code).toBe(0)
    expect(tip('main')).toBe(after)
    expect(await cards()).toHaveLength(known + 1)
  })

  test('the card lists every reference, old and new', async () => {
    const clone = cloneOf('holder')
    const before = tip('main')
    const after = commit(clone, 'several')
    const pushing = governed('holder', clone, 'push', '-q', 'origin', 'main', 'main:new-1', 'main:new-2')
    const card = await cardOf(pushing)
    const nothing = '0'.repeat(40)
    const actions = card.parameters['actions'] as { type: string; parameters: Record<string, unknown> }[]
    expect(
      actions.map(({ type, parameters }) => [
        type,
        parameters['ref'],
        parameters['before'],
        parameters['sha'],
      ]),
    ).toEqual([
      ['codehost.git.push', 'refs/heads/main', before, after],
      ['codehost.branch.create', 'refs/heads/new-1', nothing, after],
      ['codehost.branch.create', 'refs/heads/new-2', nothing, after],
    ])
    await laptop.api('POST', '/api/dashboard/proxy-approvals', { id: card.id, approved: false })
    expect((await pushing).code).not.toBe(0)
    expect(tip('main')).toBe(before)
  })

  test('a rewritten branch says on its card why it is a force push', async () => {
    const clone = cloneOf('holder')
    git('-C', clone, 'reset', '-q', '--hard', 'HEAD~1')
    commit(clone, 'rewritten')
    const before = tip('main')
    const pushing = governed('holder', clone, 'push', '-q', '-f', 'origin', 'main')
    const card = await cardOf(pushing)
    expect(card.action_type).toBe('codehost.git.force_push')
    expect(card.parameters['name_reason']).toBe(
      `The push counts as forced, because the gateway could not verify that it is a fast-forward: the new commits are not descendants of ${before.slice(0, 12)}.`,
    )
    await laptop.api('POST', '/api/dashboard/proxy-approvals', { id: card.id, approved: false })
    expect((await pushing).code).not.toBe(0)
    expect(tip('main')).toBe(before)
  })

  test('discovery is denied where every push is, and the server sees nothing', async () => {
    const clone = cloneOf('reader')
    commit(clone, 'denied')
    const seen = vendors.recorder.seen.length
    const { code, stderr } = await governed('reader', clone, 'push', '-q', 'origin', 'main')
    expect(code).not.toBe(0)
    expect(stderr).toContain('403')
    expect(vendors.recorder.seen.length).toBe(seen)
    const [row, ...others] = await recordsOf('reader', 1)
    expect(others).toEqual([])
    expect(row).toMatchObject({ action_type: 'codehost.git.push', decision: 'DENY', method: 'GET' })
  })

  test('discovery passes where any push may follow: an agent may create branches and nothing else', async () => {
    const clone = cloneOf('creator')
    const after = commit(clone, 'created')
    const before = tip('main')
    const created = await governed('creator', clone, 'push', '-q', 'origin', 'main:made-by-creator')
    expect(created.stderr).toBe('')
    expect(tip('made-by-creator')).toBe(after)
    expect((await governed('creator', clone, 'push', '-q', 'origin', 'main')).stderr).toContain('403')
    expect((await governed('creator', clone, 'push', '-q', 'origin', ':made-by-creator')).stderr).toContain(
      '403',
    )
    expect(tip('main')).toBe(before)
    expect(tip('made-by-creator')).toBe(after)
  })

  test('discovery passes where a policy uses a reference, which only the push names', async () => {
    const clone = cloneOf('guarded')
    const before = tip('main')
    git('-C', bare(), 'branch', 'guarded-branch', 'main')
    const after = commit(clone, 'guarded')
    expect((await governed('guarded', clone, 'push', '-q', 'origin', 'main')).stderr).toContain('403')
    expect(tip('main')).toBe(before)
    const pushed = await governed('guarded', clone, 'push', '-q', 'origin', 'main:guarded-branch')
    expect(pushed.stderr).toBe('')
    expect(tip('guarded-branch')).toBe(after)
  })
})

describe('what a push does is what git will read', () => {
  test(`500 commits and ${IS_FULL ? 200 : 20} MiB of blobs are one git.push`, async () => {
    const clone = cloneOf('pusher')
    // Random bytes: compressing 200 MiB of them takes minutes and gains nothing. Usual pushes are compressed.
    if (IS_FULL) git('-C', clone, 'config', 'core.compression', '0')
    git('-C', clone, 'config', 'core.bigFileThreshold', '1m')
    const stream: Buffer[] = []
    for (let i = 0; i < 500; i++) {
      const from = i === 0 ? `from ${tip('main')}\n` : ''
      const file = i === 499 ? randomBytes((IS_FULL ? 200 : 20) * 1024 * 1024) : Buffer.from(`${i}\n`)
      const head = `commit refs/heads/many\ncommitter t <t@example.com> ${1_700_000_000 + i} +0000\ndata 2\nm\n${from}`
      stream.push(
        Buffer.from(`${head}M 100644 inline blob${i === 499 ? '-large' : ''}\ndata ${file.length}\n`),
      )
      stream.push(file, Buffer.from('\n'))
    }
    execFileSync('git', ['-C', clone, 'fast-import', '--quiet'], {
      input: Buffer.concat(stream),
      maxBuffer: 1024,
    })
    const known = await recordsOf('pusher', 0)
    const { code, stderr } = await governed('pusher', clone, 'push', '-q', 'origin', 'many:main')
    expect(stderr).toBe('')
    expect(code).toBe(0)
    expect(tip('main')).toBe(git('-C', clone, 'rev-parse', 'many'))
    const rows = await recordsOf('pusher', known.length + 2)
    expect(new Set(rows.map(({ action_type, decision }) => `${action_type} ${decision}`))).toEqual(
      new Set(['codehost.git.push ALLOW']),
    )
  }, 600_000)

  test('a commit without parents that names the old one behind its committer is a force push, and history stays', async () => {
    const before = tip('main')
    const tree = git('-C', bare(), 'rev-parse', 'main^{tree}')
    const person = 't <t@example.com> 1700000000 +0000'
    const text = `tree ${tree}\nauthor ${person}\ncommitter ${person}\nparent ${before}\n\nforged\n`
    const forged = { type: 'commit', data: Buffer.from(text) } as const
    const seen = vendors.recorder.seen.length
    const body = pushBody([{ before, after: idOf(forged), ref: 'refs/heads/main' }], packOf([forged]))
    const answer = await agents.get('pusher')?.send({
      method: 'POST',
      host: 'github.com',
      target: '/acme/site.git/git-receive-pack',
      headers: [['Content-Type', 'application/x-git-receive-pack-request']],
      body,
    })
    expect(answer?.status).toBe(403)
    expect(vendors.recorder.seen.length).toBe(seen)
    expect(tip('main')).toBe(before)
    const row = await eventually('its record', async () => {
      const rows = await recordsOf('pusher', 1)
      return rows.find(({ id }) => id === answer?.headers.get('x-service-record')) ?? null
    })
    expect(row).toMatchObject({ action_type: 'codehost.git.force_push', decision: 'DENY' })
    expect(row.why?.reason).toContain('cannot be read')
  })
})
