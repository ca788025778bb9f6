import { type ChildProcess, fork } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  OPERATOR_TOKEN,
  person,
  type Replica,
  startWorld,
  type World,
} from '../../controlplane/sync/harness.ts'
import { bundledProgram } from '../../support/bundled-program.ts'
import { eventually } from '../../support/eventually.ts'
import { PROGRAM_ENV } from '../../support/program-env.ts'

const MAIN = await bundledProgram('operator')

let world: World
let replica: Replica
let folder: string
let dir: string
let watcher: Watcher | undefined

type Ready = { readonly type: string; readonly applied: number; readonly problems: number }
type Watcher = {
  readonly child: ChildProcess
  readonly ready: Promise<Ready>
  stderr(): string
  stop(): Promise<number | null>
}

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  await replica.enrol('default/local')
})
afterAll(() => world.stop())
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chaperone-manifests-'))
  dir = join(folder, 'manifests')
  await mkdir(dir)
  await writeFile(join(folder, 'operator.token'), OPERATOR_TOKEN)
})
afterEach(async () => {
  await watcher?.stop()
  watcher = undefined
  await replica.operator('POST', '/api/operator/problems', { source: 'file', problems: [] })
  await replica.operator('POST', '/api/operator/sweep', { source: 'file', present: [] })
  await rm(folder, { recursive: true, force: true })
})

/** The real program, as `chaperone up` starts it. */
function start(url = replica.url): Watcher {
  const child = fork(MAIN, {
    env: {
      ...{ ...PROGRAM_ENV, MANIFESTS_DIR: dir, CONTROL_PLANE_URL: url },
      OPERATOR_TOKEN_FILE: join(folder, 'operator.token'),
    },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let printed = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    printed += chunk.toString()
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const ready = new Promise<Ready>((resolve, reject) => {
    child.once('message', (message) => resolve(message as Ready))
    child.once('exit', () => reject(new Error(`the watcher ended: ${printed}`)))
  })
  ready.catch(() => undefined)
  return {
    child,
    ready,
    stderr: () => printed,
    stop() {
      if (child.exitCode === null) child.kill('SIGTERM')
      return ended
    },
  }
}

/** Atomic: on a busy machine the operator could read a file between its truncation and its write. */
async function write(file: string, text: string): Promise<void> {
  const draft = join(folder, `${file}.draft`)
  await writeFile(draft, text)
  await rename(draft, join(dir, file))
}
const connector = (name: string, domain: string) =>
  `apiVersion: chaperone.dev/v1alpha1\nkind: Connector\nmetadata:\n  name: ${name}\nspec:\n  type: generic\n  domains: [${domain}]\n`
const manifests = async () => {
  const { body } = await replica.user(person(), 'GET', '/api/dashboard/manifests')
  return body as {
    objects: Array<{ name: string; accepted: boolean; reasons: string[]; managed_by: string }>
    problems: Array<{ file: string; line: number; message: string }>
  }
}
const domains = async () => {
  const { rows } = await replica.db.query<{ name: string; domain: string }>(
    "select name, spec->'domains'->>0 as domain from connectors where source = 'file' order by name",
  )
  return Object.fromEntries(rows.map(({ name, domain }) => [name, domain]))
}
const becomes = (wanted: Record<string, string>) =>
  eventually(JSON.stringify(wanted), async () =>
    JSON.stringify(await domains()) === JSON.stringify(wanted) ? true : null,
  )

test('applies the folder, sends ready, and applies an edit', async () => {
  await write('a.yaml', `${connector('one', 'one.example.com')}---\n${connector('two', 'two.example.com')}`)
  watcher = start()
  expect(await watcher.ready).toEqual({ type: 'ready', applied: 2, problems: 0 })
  await writeFile(join(dir, 'a.yaml'), connector('one', 'new.example.com'))
  await becomes({ 'default/one': 'new.example.com' })
})

test('applies renames by editors, files with either extension, and deletions', async () => {
  watcher = start()
  await watcher.ready
  await write('.a.yaml.swp', connector('one', 'unfinished.example.com'))
  await rename(join(dir, '.a.yaml.swp'), join(dir, 'a.yml'))
  await becomes({ 'default/one': 'unfinished.example.com' })
  await write('a.tmp', connector('one', 'saved.example.com'))
  await rename(join(dir, 'a.tmp'), join(dir, 'a.yml'))
  await becomes({ 'default/one': 'saved.example.com' })
  await rename(join(dir, 'a.yml'), join(dir, 'b.yaml'))
  await eventually('the new file is named', async () =>
    (await manifests()).objects[0]?.managed_by === 'b.yaml' ? true : null,
  )
  expect(await domains()).toEqual({ 'default/one': 'saved.example.com' })
  await rm(join(dir, 'b.yaml'))
  await becomes({})
})

test('reports a broken file by name and line, and keeps the last good version of its objects, even after a restart', async () => {
  await write('good.yaml', connector('good', 'good.example.com'))
  await write('bad.yaml', connector('bad', 'bad.example.com'))
  watcher = start()
  await watcher.ready
  await write('bad.yaml', `${connector('bad', 'other.example.com')}  domain: typo.example.com\n`)
  const problem = await eventually('the problem', async () => (await manifests()).problems[0] ?? null)
  expect(problem).toEqual({
    ...{ file: 'bad.yaml', line: 8 },
    message: 'unknown field spec.domain; did you mean domains?',
  })
  await write('good.yaml', connector('good', 'better.example.com'))
  await becomes({ 'default/bad': 'bad.example.com', 'default/good': 'better.example.com' })
  expect(watcher.stderr()).toMatch(/bad\.yaml:8 unknown field spec\.domain/)

  await watcher.stop()
  watcher = start()
  expect(await watcher.ready).toMatchObject({ applied: 1, problems: 1 })
  expect(await domains()).toEqual({ 'default/bad': 'bad.example.com', 'default/good': 'better.example.com' })

  await write('bad.yaml', connector('bad', 'mended.example.com'))
  await becomes({ 'default/bad': 'mended.example.com', 'default/good': 'better.example.com' })
  await eventually('no problem is left', async () =>
    (await manifests()).problems.length === 0 ? true : null,
  )
})

test('resolves credentials from Secrets of the folder, and keeps them while the file of the Secret is broken', async () => {
  const secret = (value: string) =>
    `apiVersion: v1\nkind: Secret\nmetadata:\n  name: keys\nstringData:\n  token: ${value}\n`
  const user = `${connector('one', 'one.example.com')}  credential:\n    secretRef: { name: keys }\n`
  await write('secret.yaml', secret('first'))
  await write('user.yaml', user)
  watcher = start()
  await watcher.ready
  const stored = async () => {
    const { rows } = await replica.db.query<{ id: string; credential: never }>(
      'select id, credential from connectors',
    )
    const [row] = rows
    return row?.credential ? world.keyring.open(row.credential, row.id) : null
  }
  expect(await stored()).toBe('first')
  await write('secret.yaml', secret('second'))
  await eventually('the new secret', async () => ((await stored()) === 'second' ? true : null))
  await write('secret.yaml', 'apiVersion: v1\nkind: [')
  await eventually('the problem', async () => (await manifests()).problems[0] ?? null)
  await write('user.yaml', user.replace('one.example.com', 'moved.example.com'))
  await becomes({ 'default/one': 'moved.example.com' })
  expect(await stored()).toBe('second')
  await rm(join(dir, 'secret.yaml'))
  await eventually('no secret', async () => ((await stored()) === null ? true : null))
  expect(watcher.stderr()).not.toMatch(/first|second/)
})

test('reports a refused object with file, line and reason', async () => {
  await write('a.yaml', connector('one', 'same.example.com'))
  await write('b.yaml', `# a comment\n${connector('two', 'same.example.com')}`)
  watcher = start()
  expect(await watcher.ready).toEqual({ type: 'ready', applied: 1, problems: 1 })
  expect(watcher.stderr()).toMatch(
    /b\.yaml:8 Connector\/default\/two was refused: spec\.domains\[0\]: same\.example\.com belongs to/,
  )
  const refused = (await manifests()).objects.find(({ name }) => name === 'two')
  expect(refused).toMatchObject({ accepted: false, reasons: [expect.stringMatching(/default\/one/)] })
})

test('a domain may move from one connector to another in one edit', async () => {
  await write('a.yaml', `${connector('one', 'x.example.com')}---\n${connector('two', 'y.example.com')}`)
  watcher = start()
  await watcher.ready
  await write('a.yaml', `${connector('one', 'z.example.com')}---\n${connector('two', 'x.example.com')}`)
  await becomes({ 'default/one': 'z.example.com', 'default/two': 'x.example.com' })
})

test('retries while the control plane is unreachable, and stops on SIGTERM', async () => {
  await write('a.yaml', connector('one', 'one.example.com'))
  watcher = start('http://127.0.0.1:9')
  await eventually('it complains', () => (/cannot be reached/.test(watcher?.stderr() ?? '') ? true : null))
  expect(await watcher.stop()).toBe(0)
  watcher = start()
  expect(await watcher.ready).toMatchObject({ applied: 1 })
})

test('a folder that cannot be listed removes nothing', async () => {
  await write('a.yaml', connector('one', 'one.example.com'))
  watcher = start()
  await watcher.ready
  await rename(dir, `${dir}.away`)
  await eventually('it complains', () =>
    /cannot be (read|listed)/.test(watcher?.stderr() ?? '') ? true : null,
  )
  expect(await domains()).toEqual({ 'default/one': 'one.example.com' })
  await rename(`${dir}.away`, dir)
  await write('a.yaml', connector('one', 'back.example.com'))
  await becomes({ 'default/one': 'back.example.com' })
})

test('ends when its parent disconnects, and names a missing setting', async () => {
  watcher = start()
  await watcher.ready
  watcher.child.disconnect()
  expect(await watcher.stop()).toBe(0)
  const child = fork(MAIN, { env: PROGRAM_ENV, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  const message = await new Promise((resolve) => child.once('message', resolve))
  expect(message).toMatchObject({
    type: 'fatal',
    message: expect.stringMatching(/POD_NAMESPACE is not set.*MANIFESTS_DIR/),
  })
})
