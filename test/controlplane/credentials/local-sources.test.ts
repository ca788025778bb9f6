import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FileWatch } from '../../../controlplane/features/credentials/local/file-watch.ts'
import { readLocalSource } from '../../../controlplane/features/credentials/local/local-source.ts'
import { readExec } from '../../../controlplane/features/credentials/local/read-exec.ts'
import {
  type LocalSettings,
  readLocalSettings,
} from '../../../controlplane/features/credentials/local/settings.ts'
import { MintError } from '../../../controlplane/features/credentials/minting/mint.ts'
import { exposureOf, openFolder } from '../../../operator/folder/file-exposure.ts'
import { EMPTY_SET, nextSet } from '../../../operator/folder/manifest-set.ts'
import { eventually } from '../../support/eventually.ts'

const CANARY = 'canary-of-a-credential'
const NOW_MS = Date.parse('2026-01-01T00:00:00Z')
let dir: string
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-sources-'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** Runs the text as a shell script. The product itself uses no shell. */
function script(text: string, args: readonly string[] = []) {
  return { command: '/bin/sh', args: ['-c', text, 'sh', ...args], env: [] }
}

const ENVIRONMENT = { PATH: process.env['PATH'], HOME: '/home/somebody', MASTER_KEY: CANARY, OTHER: CANARY }
const LIMITS = { timeMs: 10_000, outputBytes: 1_000 }
const run = (exec: Parameters<typeof readExec>[0], limits = LIMITS) =>
  readExec(exec, ENVIRONMENT, () => NOW_MS, limits)

/** Awaits a failure and returns its text, which must have no part of a credential. */
async function failure(reading: Promise<unknown>): Promise<string> {
  const error = await reading.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(MintError)
  const { message, stack = '', cause } = error as MintError
  expect([message, stack, JSON.stringify(cause ?? '')].join()).not.toContain(CANARY)
  return message
}

describe('a command', () => {
  test('prints a token, whose arguments no shell reads', async () => {
    const given = script('printf "%s\\n" "$1"', ['$(id); `id`'])
    expect(await run(given)).toEqual({ secret: '$(id); `id`', lifetimeMs: null })
  })

  test('prints an ExecCredential with the time of its expiry', async () => {
    const credential = (status: object) =>
      JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status })
    const print = (text: string) => run(script('printf %s "$1"', [text]))
    expect(await print(credential({ token: 'abc', expirationTimestamp: '2026-01-01T00:01:00Z' }))).toEqual({
      ...{ secret: 'abc', lifetimeMs: 60_000 },
    })
    expect(await print(credential({ token: 'abc' }))).toEqual({ secret: 'abc', lifetimeMs: null })
    for (const [expirationTimestamp, lifetimeMs] of [
      ['2000-02-29T00:00:00Z', Date.UTC(2000, 1, 29) - NOW_MS],
      ['9999-12-31T23:59:59Z', Date.UTC(9999, 11, 31, 23, 59, 59) - NOW_MS],
      ['2026-01-01T01:01:00.5+01:00', 60_500],
    ] as const)
      expect(await print(credential({ token: 'abc', expirationTimestamp }))).toEqual({
        ...{ secret: 'abc', lifetimeMs },
      })
    for (const wrong of [
      `{"token":"${CANARY}"}`,
      `{${CANARY}`,
      credential({ token: CANARY, expirationTimestamp: 'soon' }),
      credential({ token: CANARY, expirationTimestamp: '' }),
      credential({ token: CANARY, expirationTimestamp: 4_102_444_800 }),
      credential({ token: CANARY, expirationTimestamp: '2026-02-30T00:00:00Z' }),
      credential({ token: CANARY, expirationTimestamp: '2026-01-01T00:01:00' }),
      credential({ token: CANARY, expirationTimestamp: '+275760-09-13T00:00:00Z' }),
      credential({ token: [CANARY] }),
      credential({ token: '' }),
      `[${credential({ token: CANARY })}`.slice(1).replace('}}', `},"status":{"token":["${CANARY}"]}}`),
      credential({ clientKeyData: CANARY }),
      credential({ token: CANARY }).replace('/v1', '/v1alpha1'),
    ])
      expect(await failure(print(wrong))).toContain('/bin/sh printed JSON that is not an ExecCredential')
  })

  test('gets the variables of its manifest, of the user and of client-go, and no others', async () => {
    const exec = { ...script('env'), env: [{ name: 'GH_HOST', value: 'git.example.com' }] }
    const { secret } = await run(exec, { ...LIMITS, outputBytes: 10_000 })
    const names = secret.split('\n').map((line) => line.split('=')[0])
    expect(names).toEqual(expect.arrayContaining(['PATH', 'HOME', 'GH_HOST', 'KUBERNETES_EXEC_INFO']))
    expect(secret).not.toContain(CANARY)
    const info = secret.split('\n').find((line) => line.startsWith('KUBERNETES_EXEC_INFO='))
    expect(JSON.parse(info?.split('=').slice(1).join('=') ?? '')).toMatchObject({
      spec: { interactive: false },
    })
  })

  test('is not looked up in relative folders of PATH', async () => {
    const exec = { command: 'printenv', args: ['PATH'], env: [] }
    const environment = { PATH: `.:bin:${process.env['PATH']}:` }
    const { secret } = await readExec(exec, environment, () => NOW_MS, LIMITS)
    expect(secret.split(':').every((folder) => folder.startsWith('/'))).toBe(true)
  })

  test('that fails is named with its exit code, and nothing of its output', async () => {
    expect(await failure(run(script(`echo ${'$1'}; echo $1 >&2; exit 4`, [CANARY])))).toBe(
      'The command /bin/sh ended with exit code 4. Run it in a terminal to see the reason.',
    )
    expect(
      await failure(run({ command: 'no-such-command-of-chaperone', args: [CANARY], env: [] })),
    ).toContain('no-such-command-of-chaperone was not found. Install it')
    expect(await failure(run({ command: dir, args: [CANARY], env: [] }))).toContain(
      'could not be started (EACCES)',
    )
    expect(await failure(run(script('exit 0')))).toContain('printed nothing')
    expect(await failure(run(script('kill -9 $$')))).toContain('was ended by SIGKILL')
  })

  test('that prints too much or does not end is killed with its children', async () => {
    const flood = script('printf "%s" "$1"; yes', [CANARY])
    expect(await failure(run(flood))).toContain('printed more than 1000 bytes')
    const file = join(dir, 'child.pid')
    const hanging = script(`echo ${CANARY}; sleep 1000 & echo $! > "$1"; wait`, [file])
    expect(await failure(run(hanging, { ...LIMITS, timeMs: 2_000 }))).toContain('did not end within 2 s')
    const pid = readFileSync(file, 'utf8').trim()
    await eventually('the end of the child', async () => (isRunning(pid) ? null : true))
  })

  test('has no terminal and no input', async () => {
    const { secret } = await run(script('cat; (: < /dev/tty) 2> /dev/null && echo terminal || echo none'))
    expect(secret).toBe('none')
  })
})

function isRunning(pid: string): boolean {
  const stat = `/proc/${pid}/stat`
  if (!existsSync(stat)) return false
  // A killed process stays as zombie until its parent reads its status.
  return !/\) Z /.test(readFileSync(stat, 'utf8'))
}

const settings = (over: Partial<LocalSettings> = {}): LocalSettings => ({
  ...{
    isAllowed: true,
    fileDirs: [join(dir, 'mounted')],
    environment: () => ({ TOKEN: ` ${CANARY}\n`, EMPTY: ' ' }),
  },
  ...over,
})
const read = (credential: object, source: 'file' | 'kubernetes' = 'file', given = settings()) =>
  readLocalSource({ credential: credential as never, source, connector: 'team-a/site' }, given)

describe('an environment variable', () => {
  test('is the credential, without blanks around it', async () => {
    expect(await read({ env: { name: 'TOKEN' } })).toEqual({ secret: CANARY, lifetimeMs: null })
  })

  test('that is missing, empty or a setting of Chaperone is refused with the step to take', async () => {
    for (const name of ['MISSING', 'EMPTY'])
      expect(await failure(read({ env: { name } }))).toContain(
        `${name} is not set in the control plane. Set it`,
      )
    const environment = () => ({ MASTER_KEY: CANARY, DATABASE_URL: CANARY })
    for (const name of ['MASTER_KEY', 'DATABASE_URL'])
      expect(await failure(read({ env: { name } }, 'file', settings({ environment })))).toContain(
        'is a setting of Chaperone',
      )
  })
})

describe('a file', () => {
  test('is read without the line end, and refused when it is no file with a credential', async () => {
    const path = join(dir, 'token')
    writeFileSync(path, `${CANARY}\n`)
    expect(await read({ file: { path } })).toEqual({ secret: CANARY, lifetimeMs: null })
    writeFileSync(path, ' \n')
    expect(await failure(read({ file: { path } }))).toContain('is empty')
    writeFileSync(path, CANARY.repeat(10_000))
    expect(await failure(read({ file: { path } }))).toContain('more than 65536 bytes')
    rmSync(path)
    expect(await failure(read({ file: { path } }))).toContain('does not exist. Create it')
    execFileSync('mkfifo', [path])
    expect(await failure(read({ file: { path } }))).toContain('not a regular file')
    expect(await failure(read({ file: { path: dir } }))).toContain('not a regular file')
    rmSync(path)
  })

  test('of a cluster is below the folder of its namespace in a listed directory, also behind links', async () => {
    const own = join(dir, 'mounted', 'team-a')
    const other = join(dir, 'mounted', 'team-b')
    for (const folder of [own, other]) mkdirSync(join(folder, '..data'), { recursive: true })
    writeFileSync(join(other, 'token'), CANARY)
    writeFileSync(join(dir, 'outside'), CANARY)
    writeFileSync(join(own, '..data', 'token'), 'own')
    symlinkSync(join('..data', 'token'), join(own, 'token'))
    symlinkSync(join(other, 'token'), join(own, 'theirs'))
    symlinkSync(dir, join(own, 'up'))
    const reading = (path: string, given?: LocalSettings) => read({ file: { path } }, 'kubernetes', given)
    expect(await reading(join(own, 'token'))).toEqual({ secret: 'own', lifetimeMs: null })
    for (const path of [join(own, 'theirs'), join(own, 'up', 'outside')])
      expect(await failure(reading(path))).toContain('leads out of the folder of the namespace team-a')
    for (const path of [join(other, 'token'), join(dir, 'outside'), '/etc/passwd', `${own}-b/token`, own])
      expect(await failure(reading(path))).toContain(`must be below ${own}`)
    for (const path of [`${own}/../team-b/token`, `${own}/./token`, `${own}//token`])
      expect(await failure(reading(path))).toContain('no segment . or ..')
    expect(await failure(reading(join(own, 'token'), settings({ fileDirs: [] })))).toContain(
      'lists no directory for credential files (controlPlane.credentialFileDirs)',
    )
  })

  test('whose folder of the namespace is a link to that of another namespace is refused', async () => {
    const mounted = join(dir, 'linked')
    mkdirSync(join(mounted, 'team-b'), { recursive: true })
    writeFileSync(join(mounted, 'team-b', 'token'), CANARY)
    symlinkSync('team-b', join(mounted, 'team-a'))
    const reading = read(
      { file: { path: join(mounted, 'team-a', 'token') } },
      'kubernetes',
      settings({ fileDirs: [mounted] }),
    )
    expect(await failure(reading)).toContain('leads out of the folder of the namespace team-a')
  })

  test('that is written, replaced behind a link, deleted or created is noticed', async () => {
    const [path, link] = [join(dir, 'watched'), join(dir, 'watched-link')]
    writeFileSync(path, 'a')
    symlinkSync(path, link)
    const changed: string[] = []
    using watch = new FileWatch((id) => changed.push(id), 20)
    watch.follow(
      new Map([
        ['one', path],
        ['two', link],
      ]),
    )
    const seen = (id: string, count: number) =>
      eventually(`change ${count} of ${id}`, async () =>
        changed.filter((one) => one === id).length >= count ? true : null,
      )
    // The first poll of a file counts as a change, after which the Connector reads the file.
    await seen('one', 1)
    await seen('two', 1)
    expect([watch.isPolled('one'), watch.isPolled('other')]).toEqual([true, false])
    writeFileSync(path, 'ab')
    await seen('one', 2)
    await seen('two', 2)
    changed.length = 0
    rmSync(path)
    await seen('one', 1)
    await seen('two', 1)
    writeFileSync(path, 'c')
    await seen('two', 2)
  })
})

test('a wrong setting is named with its value', () => {
  const reading = (given: Record<string, string>) => readLocalSettings((name) => given[name] ?? null, {})
  expect(reading({ LOCAL_CREDENTIALS: 'on', CREDENTIAL_FILE_DIRS: '/mnt/a/, /mnt/b' })).toMatchObject({
    ...{ isAllowed: true, fileDirs: ['/mnt/a', '/mnt/b'] },
  })
  expect(reading({})).toMatchObject({ isAllowed: false, fileDirs: [] })
  expect(() => reading({ LOCAL_CREDENTIALS: 'yes' })).toThrow(
    'LOCAL_CREDENTIALS is "yes": set it to on or off',
  )
  for (const dir of ['mnt', '/mnt/../etc'])
    expect(() => reading({ CREDENTIAL_FILE_DIRS: dir })).toThrow(`CREDENTIAL_FILE_DIRS has "${dir}"`)
})

describe('a source of the machine', () => {
  test.each([[{ env: { name: 'TOKEN' } }], [{ exec: { command: '/bin/echo', args: [CANARY], env: [] } }]])(
    '%j is not read for a Connector of a cluster, nor where the installation does not allow it',
    async (credential) => {
      expect(await failure(read(credential, 'kubernetes'))).toContain('in a cluster, create a Secret')
      expect(await failure(read(credential, 'file', settings({ isAllowed: false })))).toContain(
        'LOCAL_CREDENTIALS is off',
      )
    },
  )
})

describe('a manifests folder', () => {
  const manifest = (credential: string) =>
    `apiVersion: chaperone.dev/v1alpha1\nkind: Connector\nmetadata: { name: site }\nspec:\n  type: codehost\n  credential:\n    ${credential}\n`

  test('with a file that others may change states no source of the machine', async () => {
    const folder = join(dir, 'manifests')
    mkdirSync(folder, { mode: 0o755 })
    const path = join(folder, 'site.yaml')
    writeFileSync(path, '', { mode: 0o644 })
    chmodSync(folder, 0o755)
    chmodSync(path, 0o644)
    await using opened = await openFolder(folder)
    const exposure = (file: string, at = folder) => exposureOf(opened, file, statSync(join(at, file)))
    expect(await exposure('site.yaml')).toBeNull()
    chmodSync(path, 0o646)
    expect(await exposure('site.yaml')).toBe('every user may write to the file')
    chmodSync(path, 0o644)
    chmodSync(folder, 0o777)
    expect(await exposure('site.yaml')).toBe('every user may write to the folder')
    chmodSync(folder, 0o755)
    // As a program that may rename a folder above: another file is read at the same path.
    renameSync(folder, `${folder}-moved`)
    mkdirSync(folder, { mode: 0o755 })
    writeFileSync(path, '', { mode: 0o644 })
    expect(await exposure('site.yaml')).toContain('the folder was replaced since the start')
    expect(await exposure('site.yaml', `${folder}-moved`)).toBeNull()
    rmSync(folder, { recursive: true })
    renameSync(`${folder}-moved`, folder)
    linkSync(path, join(dir, 'second-name'))
    expect(await exposure('site.yaml')).toContain('hard link')
    symlinkSync(join(dir, 'second-name'), join(folder, 'linked.yaml'))
    expect(await exposure('linked.yaml')).toBe('the file is a link')
  })

  test('refuses env, file and exec in such a file with their line, and no other credential', () => {
    const problems = (credential: string, exposure?: string) =>
      nextSet(EMPTY_SET, [
        { file: 'site.yaml', text: manifest(credential), ...(exposure === undefined ? {} : { exposure }) },
      ]).problems
    const exposure = 'the file is a link'
    for (const credential of ['env: { name: A }', 'file: { path: /a }', 'exec: { command: a }']) {
      expect(problems(credential)).toEqual([])
      expect(problems(credential, exposure)).toMatchObject([
        { line: 7, message: expect.stringContaining('the file is a link, so other users could choose') },
      ])
    }
    expect(problems('vault: site', exposure)).toEqual([])
  })
})
