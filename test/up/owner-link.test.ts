import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { shellQuote } from '../../controlplane/cli/terminal/shell-quote.ts'
import { eventually } from '../support/eventually.ts'
import { databasesFolder } from '../support/memory-folder.ts'
import { workerPostgres } from '../support/worker-postgres.ts'
import { CLI, untilNoProcess } from './installation-process.ts'

let home: string
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(databasesFolder(), 'chaperone-terminal-')))
})
afterEach(async () => {
  await untilNoProcess(home)
  rmSync(home, { recursive: true, force: true })
})

type Run = { readonly child: ChildProcess; readonly ended: Promise<number | null>; text(): string }

/** `isTerminal`: run in a new terminal (script of util-linux), else with pipes. */
function chaperone(args: readonly string[], env: NodeJS.ProcessEnv, isTerminal: boolean): Run {
  const command = [process.execPath, CLI, ...args]
  const line = command.map((word) => shellQuote(word)).join(' ')
  const [program = '', ...rest] = isTerminal ? ['script', '-qefc', `exec ${line}`, '/dev/null'] : command
  const child = spawn(program, rest, { cwd: home, env, stdio: 'pipe' })
  const parts: string[] = []
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => parts.push(String(chunk)))
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return { child, ended, text: () => parts.join('') }
}

/** The link in the output of a command. */
async function onlyLink(run: Run): Promise<string> {
  expect(await run.ended, run.text()).toBe(0)
  const [link = '', ...others] = links(run.text())
  expect([link, others]).toEqual([expect.stringMatching(/token=[\w-]{43}$/), []])
  return link
}

const links = (text: string) => text.match(/https?:\/\/\S+\/setup\?token=[\w-]+/g) ?? []

function logs(): string {
  const files = readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.log'))
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
  expect(files.length).toBeGreaterThan(0)
  return files.join('\n')
}

test('the first start, owner-link and run print the owner link to a terminal once, and never to a log or a pipe', async () => {
  const postgres = await workerPostgres()
  const { url } = await postgres.createDatabase()
  const env = { ...process.env, HOME: home, XDG_STATE_HOME: join(home, 'state'), DATABASE_URL: url }
  const up = chaperone(['up', '--here', '--port', '0', '--gateway-port', '0'], env, true)
  try {
    await eventually('it is ready', () => (up.text().includes('Stop with Ctrl-C') ? true : null))
    const [first = '', ...others] = links(up.text())
    expect(others).toEqual([])
    expect(up.text()).toContain(`${first} (within an hour)`)

    const second = await onlyLink(chaperone(['owner-link'], env, true))
    const third = await onlyLink(chaperone(['run', '--', 'true'], env, true))
    expect(new Set([first, second, third]).size).toBe(3)
    const piped = chaperone(['run', '--', 'true'], env, false)
    expect([await piped.ended, links(piped.text())]).toEqual([0, []])
    expect(piped.text()).toMatch(/no owner yet\. Become the owner: .*chaperone.* owner-link/)

    const token = new URL(first).searchParams.get('token')
    const body = {
      email: 'ada@example.com',
      password: 'correct horse battery',
      name: 'Ada',
      setup_token: token,
    }
    const reply = await fetch(new URL('/api/auth/register', first), {
      ...{ method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } },
    })
    expect(await reply.json()).toMatchObject({ user: { role: 'owner' } })
    const late = chaperone(['owner-link'], env, true)
    expect([await late.ended, links(late.text())]).toEqual([1, []])
    expect(late.text()).toContain('This installation has an owner')

    const stored = `${up.text().replace(first, '')}\n${piped.text()}\n${logs()}`
    for (const link of [first, second, third]) {
      expect(stored).not.toContain(link)
      expect(stored).not.toContain(new URL(link).searchParams.get('token'))
    }
    expect(stored).not.toContain('token=')
  } finally {
    up.child.stdin?.write('\x03')
    expect(await up.ended).toBe(0)
    await postgres.stop()
  }
})
