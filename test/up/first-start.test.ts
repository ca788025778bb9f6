import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { workerPostgres } from '../support/worker-postgres.ts'
import { untilNoProcess } from './installation-process.ts'

const SOURCE = join(import.meta.dirname, '../../controlplane/cli/main.ts')

let tree: string
beforeEach(() => {
  tree = realpathSync(mkdtempSync(join(tmpdir(), 'chaperone-tree-')))
})
afterEach(async () => {
  await untilNoProcess(tree)
  rmSync(tree, { recursive: true, force: true })
})

test('the first start in a folder prints the data folder that it created, and no owner link to a log', async () => {
  const postgres = await workerPostgres()
  const { url } = await postgres.createDatabase()
  const child = spawn(process.execPath, [SOURCE, 'up', '--here', '--port', '0', '--gateway-port', '0'], {
    cwd: tree,
    env: { ...process.env, HOME: tree, XDG_STATE_HOME: join(tree, 'state'), DATABASE_URL: url },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => {
    said += String(chunk)
  })
  try {
    await eventually('it is ready', () => (said.includes('Stop with Ctrl-C') ? true : null))
    const named = (label: string) => new RegExp(`^  ${label} +(\\S+)`, 'm').exec(said)?.[1] ?? ''
    expect(named('Data and logs')).toBe(join(tree, '.chaperone'))
    expect(named('Manifests')).toBe(join(tree, '.chaperone/manifests'))
    expect(existsSync(named('Manifests'))).toBe(true)
    expect(said).toMatch(/^ {2}Become owner +.*chaperone.* owner-link/m)
    const logs = readdirSync(join(tree, '.chaperone'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.log'))
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
    expect(logs.length).toBeGreaterThan(0)
    expect([said, ...logs].join('\n')).not.toMatch(/token=/)
  } finally {
    child.kill('SIGTERM')
    await ended
    await postgres.stop()
  }
})
