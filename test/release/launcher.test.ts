import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { launcherOf } from '../../scripts/launcher.ts'

const folder = mkdtempSync(join(tmpdir(), 'chaperone-launcher-'))
const launcher = join(folder, 'chaperone')
writeFileSync(launcher, launcherOf('chaperone', 'cli.cjs'), { mode: 0o755 })
writeFileSync(
  join(folder, 'cli.cjs'),
  'console.log(JSON.stringify([process.execArgv, process.argv.slice(2)]))',
)
afterAll(() => rmSync(folder, { recursive: true }))

const run = (program: string, path: string, ...args: readonly string[]) =>
  spawnSync(program, args, { encoding: 'utf8', env: { PATH: `${path}:/usr/bin:/bin` } })

test('starts the program beside it through a link, without the inspector', () => {
  const link = join(folder, 'link')
  symlinkSync(launcher, link)
  const { stdout } = run(link, join(process.execPath, '..'), 'kill', 'on the spot')
  expect(JSON.parse(stdout)).toEqual([['--disable-sigusr1'], ['kill', 'on the spot']])
})

test.each([
  ['echo v20.11.0', 'v20.11.0'],
  ['echo v9.0.0', 'v9.0.0'],
  ['exit 127', 'no Node.js'],
])('names the Node that is missing where node does `%s`', (script, version) => {
  const old = join(folder, version.replaceAll(/\W/g, '-'))
  mkdirSync(old)
  writeFileSync(join(old, 'node'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const { status, stderr } = run(launcher, old)
  expect(stderr).toBe(
    `chaperone needs Node.js 24 or newer, but ${version} is on the PATH. Install Node.js 24.\n`,
  )
  expect(status).toBe(1)
})
