import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { runCli } from '../../../../controlplane/cli/cli.ts'
import {
  ensureInstallationKey,
  installationKey,
} from '../../../../controlplane/cli/client/installation-key.ts'
import {
  assertOwnedDataFolder,
  dataFolder,
  findDataFolder,
  prepareDataFolder,
  writePrivate,
} from '../../../../controlplane/cli/state/data-folder.ts'
import { lockFolder } from '../../../../controlplane/cli/state/folder-lock.ts'
import { workingTreeFolder } from '../../../../controlplane/cli/state/working-tree-folder.ts'
import { ensureSecrets } from '../../../../controlplane/cli/up/installation-secrets.ts'
import { ensureManifests } from '../../../../controlplane/cli/up/starter-manifests.ts'
import { createInstallationProof } from '../../../../controlplane/crypto/installation-proof.ts'

let root: string
let env: NodeJS.ProcessEnv
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'chaperone-folders-'))
  env = { XDG_STATE_HOME: join(root, 'home') }
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const IS_ROOT = process.getuid?.() === 0
const home = () => join(root, 'home', 'chaperone', 'data')

async function cli(args: readonly string[], cwd: string, more: NodeJS.ProcessEnv = {}) {
  const [out, err]: [string[], string[]] = [[], []]
  const terminal = {
    print: (line: string) => void out.push(line),
    warn: (line: string) => void err.push(line),
  }
  const code = await runCli(args, {
    env: { ...env, ...more },
    cwd,
    terminal: { ...terminal, isInteractive: false },
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

function find(cwd: string, more: { readonly flag?: string; readonly env?: NodeJS.ProcessEnv } = {}) {
  const warnings: string[] = []
  const search = {
    flag: more.flag,
    env: { ...env, ...more.env },
    cwd,
    warn: (line: string) => void warnings.push(line),
  }
  return { folder: findDataFolder(search).root, warnings }
}

function makeTree(...parts: readonly string[]): string {
  const dir = join(root, ...parts)
  mkdirSync(dir, { recursive: true })
  return dir
}

/** A data folder with a server that imitates an installation, as a repository or an agent can create it. */
async function planted(tree: string) {
  const seen: string[] = []
  const data = join(tree, '.chaperone')
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization}`)
    const nonce = new URL(request.url ?? '', 'http://x').searchParams.get('nonce')
    if (nonce !== null)
      return void response.end(JSON.stringify({ proof: proofOf(data, nonce, request.socket) }))
    const work = { pending: 0, cancelled: [], not_cancelled: [], omitted: 0, note: 'Limits of the list.' }
    const entry = { scope: 'all', source: 'api', reason: 'drill', since: '2026-01-01T00:00:00Z' }
    response.end(
      JSON.stringify({
        ...{ effective: [entry], hosted_work: work, acknowledged: { acked: 1, total: 1, ms: 12 } },
        ...{ agents: [], objects: [] },
      }),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  mkdirSync(join(data, 'manifests'), { recursive: true })
  const facts = {
    pid: 1,
    base_url: url,
    gateway_url: url,
    gateway_port: 1,
    ca_file: '/x',
    ca_bundle_file: '/x',
  }
  const started = { manifests: join(data, 'manifests'), started_at: new Date().toISOString() }
  writeFileSync(join(data, 'run.json'), JSON.stringify({ ...facts, ...started }))
  for (const name of ['admin.token', 'gateway.token'])
    writeFileSync(join(data, name), 'planted', { mode: 0o600 })
  return { data, seen, close: () => server.close() }
}

function proofOf(data: string, nonce: string, end: Socket): string | undefined {
  const key = installationKey(env, data)
  return key && createInstallationProof(key)(nonce, end)
}

describe('a data folder in a working tree', () => {
  test.each([
    [['kill', 'on']],
    [['kill', 'off']],
    [['kill', 'status']],
    [['status']],
    [['run', '--', 'true']],
    [['run', '--capture', '--', 'true']],
    [['apply', '-f', 'secret.yaml']],
    [['agent', 'list']],
    [['agent', 'create', 'x']],
    [['agent', 'rotate', 'x']],
    [['approvals', 'ls']],
    [['approvals', 'approve', 'apv_1']],
    [['get', 'connectors']],
    [['traffic']],
    [['explain', 'GET', 'https://api.github.com/user']],
    [['login', '--email', 'a@b.c']],
  ])('is ignored by %j, with the remedy', async (args) => {
    const tree = makeTree('project', 'src')
    const fake = await planted(makeTree('project'))
    writeFileSync(
      join(tree, 'secret.yaml'),
      'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData: { t: x }\n',
    )
    const ran = await cli(args, tree)
    fake.close()
    expect(ran.code).not.toBe(0)
    expect(ran.err).toContain(
      `${fake.data} is not trusted and is ignored. If the folder is yours: chaperone trust ${fake.data}`,
    )
    expect(ran.err).toContain(`Chaperone does not run in ${home()}`)
    expect(fake.seen).toEqual([])
    expect(existsSync(join(fake.data, 'manifests', 'secret.yaml'))).toBe(false)
  })

  test('is quoted in the command that trusts it, because a repository may choose its name', async () => {
    const tree = makeTree('$(id)', 'src')
    const fake = await planted(makeTree('$(id)'))
    const ran = await cli(['status'], tree)
    fake.close()
    expect(ran.err).toContain(`If the folder is yours: chaperone trust '${fake.data}'`)
  })

  test('is used while it is trusted, and kill prints it', async () => {
    const tree = makeTree('project', 'src')
    const own = await planted(makeTree('project'))
    ensureInstallationKey(env, own.data)
    expect(await cli(['trust', '..'], tree)).toMatchObject({ code: 0, err: '' })
    expect((await cli(['trust', '--list'], tree)).out).toBe(own.data)
    const killed = await cli(['kill', 'on'], tree)
    expect(killed.out).toMatch(
      new RegExp(
        `Kill switch active: 1 of 1 gateway acknowledged in 12 ms\nInstallation ${own.data} at http://127`,
      ),
    )
    expect(killed.out).not.toContain('Limits of the list.')
    expect((await cli(['kill', 'status'], tree)).out).toContain('Limits of the list.')
    expect(JSON.parse((await cli(['kill', 'on', '--json'], tree)).out)).toHaveProperty('hosted_work')
    for (const args of [
      ['kill', 'on', '--json'],
      ['kill', 'off', '--json'],
      ['kill', 'status', '--json'],
    ]) {
      const { out } = await cli(args, tree)
      expect(JSON.parse(out)).toMatchObject({
        installation: own.data,
        address: expect.stringMatching(/^http:\/\/127/),
      })
    }
    expect(killed.err).toBe('')
    expect((await cli(['trust', '--remove', own.data], tree)).code).toBe(0)
    expect((await cli(['trust', '--list'], tree)).out).toBe('')
    expect((await cli(['kill', 'on'], tree)).code).toBe(3)
    expect((await cli(['trust', '--remove', own.data], tree)).code).toBe(1)
    own.close()
  })

  test('is printed when it runs and the command is run in another folder', async () => {
    const tree = makeTree('project', '.chaperone')
    ensureInstallationKey(env, tree)
    const elsewhere = makeTree('elsewhere')
    expect((await cli(['kill', 'on'], elsewhere)).err).not.toContain('It runs on')
    const lock = await lockFolder(join(tree, 'lock'))
    const { code, err } = await cli(['kill', 'on'], elsewhere)
    lock.release()
    expect([code, err]).toEqual([3, expect.stringContaining(`\nChaperone runs with --data ${tree}\n`)])
  })

  test('is found by its real path, so that a link is the same folder', async () => {
    const tree = makeTree('project', '.chaperone')
    const other = makeTree('other')
    symlinkSync(tree, join(other, '.chaperone'))
    expect(find(other)).toMatchObject({ folder: home(), warnings: [expect.stringContaining(tree)] })
    await cli(['trust', tree], root)
    expect(find(other).folder).toBe(tree)
    rmSync(join(other, '.chaperone'))
    mkdirSync(join(other, '.chaperone'))
    expect(find(other).folder).toBe(home())
  })

  test('does not hide a trusted one in a parent folder, and is reported', async () => {
    const upper = makeTree('project', '.chaperone')
    await cli(['trust', upper], root)
    const nearer = makeTree('project', 'vendor', '.chaperone')
    expect(find(join(root, 'project', 'vendor'))).toMatchObject({
      folder: upper,
      warnings: [expect.stringContaining(nearer)],
    })
  })

  test.each<[string, object, string]>([
    ['--data', { flag: 'project/.chaperone' }, 'project/.chaperone'],
    ['CHAPERONE_DATA', { env: { CHAPERONE_DATA: 'project/.chaperone' } }, 'project/.chaperone'],
    ['--data before CHAPERONE_DATA', { flag: 'a', env: { CHAPERONE_DATA: 'b' } }, 'a'],
    ['neither', {}, 'home/chaperone/data'],
    ['an empty CHAPERONE_DATA', { env: { CHAPERONE_DATA: '' } }, 'home/chaperone/data'],
  ])('%s decides', (_name, more, folder) => {
    makeTree('project', '.chaperone')
    expect(find(root, more).folder).toBe(join(root, folder))
  })

  test.each([[['trust']], [['trust', '--list', 'x']], [['trust', 'a', 'b']]])(
    'refuses %j as wrong usage',
    async (args) => {
      expect((await cli(args, root)).code).toBe(2)
    },
  )

  test('is the only folder that can be trusted: a tree without one is rejected', async () => {
    const tree = makeTree('project', 'src')
    expect(await cli(['trust', '.'], tree)).toMatchObject({
      code: 1,
      out: '',
      err: `chaperone: ${tree} is not a data folder and does not contain .chaperone. Give the data folder or its working tree.`,
    })
    expect((await cli(['trust', '--list'], root)).out).toBe('')
    mkdirSync(join(tree, 'keys'))
    expect(await cli(['trust', '.'], tree)).toMatchObject({ code: 0, err: '' })
  })

  test('cannot be trusted before it exists', async () => {
    expect(await cli(['trust', 'nowhere'], root)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/The data folder .* does not exist/),
    })
  })
})

describe('a data folder that other users can write', () => {
  const data = () => join(root, 'data')
  beforeEach(() => {
    mkdirSync(join(data(), 'keys'), { recursive: true })
    for (const name of ['admin.token', 'gateway.token', 'run.json', 'keys/master.key', 'keys/ca.key'])
      writeFileSync(join(data(), name), '{}', { mode: 0o600 })
  })

  test.each([
    ['', 0o775],
    ['', 0o757],
    ['', 0o777],
    ['', 0o1777],
    ['keys', 0o770],
    ['run.json', 0o664],
    ['run.json', 0o646],
    ['admin.token', 0o620],
    ['gateway.token', 0o602],
    ['keys/master.key', 0o660],
    ['keys/ca.key', 0o606],
  ])('is rejected: %j with mode %o', async (name, mode) => {
    chmodSync(join(data(), name), mode)
    for (const args of [
      ['kill', 'on'],
      ['status'],
      ['up'],
      ['backup', 'x'],
      ['logs'],
      ['doctor'],
      ['trust', data()],
    ]) {
      const named = args[0] === 'trust' ? args : [...args, '--data', data()]
      const { code, err } = await cli(named, root)
      expect([code, err], args.join(' ')).toEqual([
        1,
        expect.stringMatching(
          new RegExp(
            `not used\\. ${join(data(), name).replace(/\/$/, '')} is writable by other users \\(mode.*chmod go-w`,
          ),
        ),
      ])
    }
  })

  test.each([
    ['a folder above it that everybody may write to', 0o777, true],
    ['a folder above it that another group may write to', 0o775, !IS_ROOT],
    ['a folder above it with a sticky bit', 0o1777, false],
  ])('%s: mode %o, refused %s', async (_name, mode, isRefused) => {
    chmodSync(root, mode)
    const { err } = await cli(['status', '--data', data()], root)
    expect(err.includes('is writable by other users')).toBe(isRefused)
  })

  test.skipIf(!IS_ROOT).each(['', 'keys', 'run.json', 'admin.token', 'gateway.token', 'keys/master.key'])(
    'is refused where %j belongs to another user',
    async (name) => {
      chownSync(join(data(), name), 1_000, 1_000)
      for (const args of [['kill', 'on'], ['up'], ['restore', 'x']]) {
        const { code, err } = await cli([...args, '--data', data()], root)
        if (args[0] === 'restore') expect(code).toBe(1)
        else
          expect([code, err]).toEqual([
            1,
            expect.stringMatching(/belongs to another user \(uid 1000\).*Run the command as that user/),
          ])
      }
    },
  )

  test.skipIf(!IS_ROOT)('is rejected where a parent folder belongs to another user', async () => {
    chownSync(root, 1_000, 1_000)
    expect((await cli(['kill', 'on', '--data', data()], root)).err).toContain(
      `${root} belongs to another user`,
    )
    expect((await cli(['up', '--data', join(root, 'new')], root)).err).toContain(
      `${root} belongs to another user`,
    )
  })

  test('is rejected behind a link too', async () => {
    symlinkSync(data(), join(root, 'link'))
    chmodSync(join(data(), 'run.json'), 0o666)
    expect((await cli(['kill', 'on', '--data', join(root, 'link')], root)).err).toContain(
      'is writable by other users',
    )
  })
})

test('a data folder that a start creates is accepted with a umask that makes files group-writable', async () => {
  const before = process.umask(0o002)
  try {
    const tree = workingTreeFolder({ env, cwd: makeTree('checkout') })
    for (const folder of [tree, dataFolder(join(root, 'some', 'data'))]) {
      prepareDataFolder(folder)
      ensureSecrets(folder)
      const lock = await lockFolder(folder.lock)
      ensureManifests(folder.manifests)
      expect(() => assertOwnedDataFolder(folder)).not.toThrow()
      lock.release()
    }
  } finally {
    process.umask(before)
  }
})

describe('a start from a working tree', () => {
  test('creates the folder in the tree, and every command in the tree finds it', () => {
    const tree = makeTree('checkout')
    const own = join(tree, '.chaperone')
    expect(workingTreeFolder({ env, cwd: tree }).root).toBe(realpathSync(own))
    expect(find(makeTree('checkout', 'src'))).toEqual({ folder: realpathSync(own), warnings: [] })
    expect(workingTreeFolder({ env, cwd: tree }).root).toBe(realpathSync(own))
  })

  test.each([
    ['a folder', (dir: string) => mkdirSync(dir)],
    ['a link to another folder', (dir: string) => symlinkSync(makeTree('elsewhere'), dir)],
    ['a link to a folder that is not there', (dir: string) => symlinkSync(join(root, 'nowhere'), dir)],
    ['a file', (dir: string) => writeFileSync(dir, '')],
  ])('rejects %s that existed before, with the remedy', (_what, plant) => {
    const tree = makeTree('clone')
    plant(join(tree, '.chaperone'))
    expect(() => workingTreeFolder({ env, cwd: tree })).toThrow(
      /not trusted.*chaperone trust|cannot be used/s,
    )
    expect(find(tree).folder).toBe(home())
  })

  test('creates nothing in the tree with --data or CHAPERONE_DATA', async () => {
    const tree = makeTree('checkout')
    const busy = join(root, 'busy')
    writeFileSync(busy, '')
    for (const [args, more] of [
      [['up', '--here', '--data', busy], {}],
      [['up', '--here'], { CHAPERONE_DATA: busy }],
    ] as const) {
      expect((await cli(args, tree, more)).code).not.toBe(0)
      expect(existsSync(join(tree, '.chaperone'))).toBe(false)
    }
  })
})

describe('files of a data folder', () => {
  const file = () => join(root, 'file')
  const marks = () => `${lstatSync(file()).ino} ${lstatSync(file()).mtimeMs}`

  test('are replaced only where content or mode differ', () => {
    writePrivate(file(), 'one')
    const before = marks()
    writePrivate(file(), Buffer.from('one'))
    expect(marks()).toBe(before)
    writePrivate(file(), 'two')
    expect(marks()).not.toBe(before)
    expect(readFileSync(file(), 'utf8')).toBe('two')
    writePrivate(file(), 'two', 0o644)
    expect(lstatSync(file()).mode & 0o777).toBe(0o644)
  })

  test('are not written through a link, and leave no temporary file', () => {
    const target = join(root, 'target')
    writeFileSync(target, 'same', { mode: 0o600 })
    symlinkSync(target, file())
    writePrivate(file(), 'same')
    expect(lstatSync(file()).isSymbolicLink()).toBe(false)
    expect(() => writePrivate(join(root, 'none', 'file'), 'x')).toThrow('ENOENT')
    mkdirSync(join(root, 'folder'))
    expect(() => writePrivate(join(root, 'folder'), 'x')).toThrow(/EISDIR|EEXIST|ENOTEMPTY/)
    expect(readdirSync(root).filter((name) => name.includes('new'))).toEqual([])
  })
})
