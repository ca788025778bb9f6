import { createHmac, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runCli } from '../../../../controlplane/cli/cli.ts'
import {
  ensureInstallationKey,
  installationKey,
} from '../../../../controlplane/cli/client/installation-key.ts'
import { storeSession } from '../../../../controlplane/cli/sign-in/stored-sessions.ts'
import { lockFolder } from '../../../../controlplane/cli/state/folder-lock.ts'
import { type InstallationKey, proofMessage } from '../../../../core/wire/access/installation-proof.ts'

let root: string
let env: NodeJS.ProcessEnv
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'chaperone-proof-'))
  env = { XDG_STATE_HOME: join(root, 'home') }
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const SECRETS = ['planted-admin-token', 'planted-gateway-token', 'kept-session-id', 'a-manifest-secret']

async function cli(args: readonly string[]) {
  const [out, err]: [string[], string[]] = [[], []]
  const terminal = {
    print: (line: string) => void out.push(line),
    warn: (line: string) => void err.push(line),
    isInteractive: false,
  }
  const code = await runCli(args, { env, cwd: root, terminal })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

type Fake = { readonly data: string; readonly url: string; readonly seen: string[]; close(): void }

/** A data folder, and a server that answers every request like an installation, except the challenge. */
async function plantedInstallation(proof: (nonce: string, url: string) => string | null): Promise<Fake> {
  const seen: string[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      seen.push(
        `${request.method} ${request.url}\n${JSON.stringify(request.rawHeaders)}\n${Buffer.concat(chunks)}`,
      )
      const { pathname, searchParams } = new URL(request.url ?? '', url())
      const given = pathname.endsWith('/challenge') ? proof(searchParams.get('nonce') ?? '', url()) : null
      if (pathname.endsWith('/challenge') && given === null) response.statusCode = 404
      response.setHeader('set-cookie', 'svc_session=stolen; Path=/')
      response.end(given === null ? ANSWER : JSON.stringify({ proof: given }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const url = () => address
  const data = join(root, 'planted')
  mkdirSync(join(data, 'manifests'), { recursive: true })
  mkdirSync(join(data, 'gateway'))
  const files = { ca_file: join(data, 'ca.crt'), ca_bundle_file: join(data, 'ca.crt') }
  const run = { pid: process.pid, base_url: url(), gateway_url: url(), gateway_port: 1, ...files }
  const more = { manifests: join(data, 'manifests'), started_at: new Date().toISOString() }
  writeFileSync(join(data, 'run.json'), JSON.stringify({ ...run, ...more }))
  writeFileSync(join(data, 'admin.token'), 'planted-admin-token', { mode: 0o600 })
  writeFileSync(join(data, 'gateway.token'), 'planted-gateway-token', { mode: 0o600 })
  const lock = await lockFolder(join(data, 'lock'))
  const close = () => {
    lock.release()
    server.close()
  }
  return { data, url: address, seen, close }
}

const ANSWER = JSON.stringify({
  ...{ effective: [], acknowledged: { acked: 1, total: 1, ms: 12 }, status: 'healthy', checks: {} },
  agents: [{ agent_id: 'agt_1', name: 'dev', status: 'active', proxy_url: 'http://dev:k@127.0.0.1:1' }],
  ...{ objects: [], gateways: [], connectors: [], approvals: [], in_force: {}, config_version: 1 },
  ...{
    owner_link: null,
    user: { email: 'a@b.c', role: 'owner' },
    events: [],
    proxy_url: 'http://dev:k@127.0.0.1:1',
  },
})

const SECRET = 'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData: { t: a-manifest-secret }\n'

const COMMANDS: ReadonlyArray<readonly string[]> = [
  ['kill', 'on'],
  ['kill', 'off'],
  ['kill', 'status'],
  ['status'],
  ['run', '--', 'true'],
  ['run', '--capture', '--', 'true'],
  ['apply', '-f', 'secret.yaml'],
  ['agent', 'list'],
  ['agent', 'create', 'x'],
  ['agent', 'rotate', 'dev'],
  ['agent', 'suspend', 'dev'],
  ['approvals', 'ls'],
  ['approvals', 'approve', 'apv_1'],
  ['approvals', 'deny', 'apv_1'],
  ['get', 'connectors'],
  ['get', 'manifests'],
  ['traffic'],
  ['explain', 'GET', 'https://api.github.com/user'],
  ['login', '--email', 'a@b.c'],
  ['logout'],
  ['doctor'],
]

/** Proofs of servers without the key, by name. */
const FORGERIES: Readonly<
  Record<string, (key: InstallationKey, nonce: string, url: string) => string | null>
> = {
  'no answer to the challenge': () => null,
  'the nonce as the proof': (_key, nonce) => nonce,
  'an empty proof': () => '',
  'a proof with another key': (key, nonce, url) =>
    sign({ ...key, key: randomBytes(32).toString('base64url') }, nonce, url),
  'a proof of another nonce': (key, _nonce, url) => sign(key, randomBytes(32).toString('base64url'), url),
  'a proof that the real server made for its own address': (key, nonce) =>
    sign(key, nonce, 'http://127.0.0.1:1'),
  'a proof of another installation': (key, nonce, url) => sign({ ...key, folder: '/elsewhere' }, nonce, url),
  'a proof in another form': (key, nonce, url) =>
    Buffer.from(sign(key, nonce, url), 'base64url').toString('hex'),
}

function sign(
  key: InstallationKey,
  nonce: string,
  url: string,
  prover: 'control_plane' | 'gateway' = 'control_plane',
) {
  const { hostname, port } = new URL(url)
  const message = proofMessage(prover, { folder: key.folder, nonce, address: hostname, port: Number(port) })
  return createHmac('sha256', key.key).update(message).digest('base64url')
}

function secretsIn(seen: readonly string[]): readonly string[] {
  return SECRETS.filter((secret) => seen.join('\n').includes(secret))
}

describe.each(COMMANDS.map((args) => [args.join(' '), args] as const))('chaperone %s', (_name, args) => {
  test('sends nothing to a server without an installation key in the home folder', async () => {
    const fake = await plantedInstallation(() => null)
    writeFileSync(join(root, 'secret.yaml'), SECRET)
    storeSession(env, fake.data, { id: 'kept-session-id', email: 'a@b.c' })
    storeSession(env, fake.url, { id: 'kept-session-id', email: 'a@b.c' })
    const [name = '', ...rest] = args
    const ran = await cli([name, '--data', fake.data, ...rest])
    fake.close()
    expect(ran.code).not.toBe(0)
    expect(ran.out + ran.err).toContain(`chaperone up --data ${fake.data}`)
    expect(fake.seen).toEqual([])
    expect(existsSync(join(fake.data, 'manifests', 'secret.yaml'))).toBe(false)
  })

  test.each(Object.keys(FORGERIES))('sends no secret to a server with %s', async (forgery) => {
    const fake = await plantedInstallation((nonce, url) => {
      const key = installationKey(env, fake.data)
      return key === undefined ? null : (FORGERIES[forgery]?.(key, nonce, url) ?? null)
    })
    ensureInstallationKey(env, fake.data)
    writeFileSync(join(root, 'secret.yaml'), SECRET)
    storeSession(env, fake.data, { id: 'kept-session-id', email: 'a@b.c' })
    const [name = '', ...rest] = args
    const ran = await cli([name, '--data', fake.data, ...rest])
    fake.close()
    expect(ran.code).not.toBe(0)
    expect(ran.out + ran.err).toMatch(/did not prove|Standard input ended/)
    expect(secretsIn(fake.seen)).toEqual([])
    expect(fake.seen.filter((request) => !/^GET \/(api\/)?challenge\?/.test(request))).toEqual([])
    expect(existsSync(join(fake.data, 'manifests', 'secret.yaml'))).toBe(false)
  })
})

test('a server with a valid proof receives the token, and each command sends one challenge', async () => {
  const fake = await plantedInstallation((nonce, url) => sign(installationKey(env, fake.data)!, nonce, url))
  ensureInstallationKey(env, fake.data)
  const ran = await cli(['kill', '--data', fake.data, 'on'])
  fake.close()
  expect(ran).toMatchObject({ code: 0, err: '' })
  expect(fake.seen.filter((request) => request.includes('/challenge'))).toHaveLength(1)
  expect(fake.seen.at(-1)).toContain('planted-admin-token')
})

test('the key is a private file in the home folder, one for each data folder, and is kept', () => {
  const folders = [join(root, 'a'), join(root, 'b')]
  for (const folder of folders) mkdirSync(folder)
  const files = folders.map((folder) => ensureInstallationKey(env, folder))
  expect(new Set(files).size).toBe(2)
  for (const file of files) {
    expect(file.startsWith(join(root, 'home', 'chaperone'))).toBe(true)
    expect(statSync(file).mode & 0o777).toBe(0o600)
  }
  const first = readFileSync(files[0] ?? '', 'utf8')
  expect(ensureInstallationKey(env, folders[0] ?? '')).toBe(files[0])
  expect(readFileSync(files[0] ?? '', 'utf8')).toBe(first)
})

test('keys of data folders that no longer exist are removed', () => {
  const [gone, here] = [join(root, 'gone'), join(root, 'here')]
  for (const folder of [gone, here]) mkdirSync(folder)
  const file = ensureInstallationKey(env, gone)
  rmSync(gone, { recursive: true })
  ensureInstallationKey(env, here)
  expect(existsSync(file)).toBe(false)
})

test('user reset-password works only for installations that this user has started', async () => {
  const data = join(root, 'planted')
  mkdirSync(join(data, 'postgres'), { recursive: true })
  const ran = await cli(['user', '--data', data, 'reset-password', 'ada@example.com'])
  expect(ran).toMatchObject({ code: 1, err: expect.stringContaining(`chaperone up --data ${data}`) })
})

describe('CHAPERONE_URL', () => {
  test.each([
    'http://chaperone.example.com',
    'http://192.168.1.5:3000',
    'http://[fe80::1]:3000',
    'http://127.0.0.1.example.com',
    'http://localhost.example.com:3000',
    'http://0.0.0.0:3000',
    'HTTP://EXAMPLE.com',
    'http://user@10.0.0.1',
    'ftp://127.0.0.1',
    'ws://127.0.0.1',
    '127.0.0.1:3000',
    'not an address',
  ])('%s is rejected, because the token would be sent in clear text', async (url) => {
    env = { ...env, CHAPERONE_URL: url, CHAPERONE_TOKEN: 'secret' }
    for (const args of [['kill', 'on'], ['status'], ['login', '--email', 'a@b.c'], ['approvals', 'ls']]) {
      const ran = await cli(args)
      expect(ran, args.join(' ')).toMatchObject({
        code: 1,
        err: expect.stringMatching(/CHAPERONE_URL .* https/),
      })
    }
  })

  test.each(['http://127.0.0.1:1', 'http://localhost:1/', 'http://[::1]:1', 'https://127.0.0.1:1'])(
    '%s is accepted',
    async (url) => {
      env = { ...env, CHAPERONE_URL: url, CHAPERONE_TOKEN: 'secret' }
      expect(await cli(['kill', 'on'])).toMatchObject({
        code: 3,
        err: expect.stringContaining('does not answer'),
      })
    },
  )
})
