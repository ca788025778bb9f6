import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { commandWords, pageSnippets, snippetCommands } from '../support/page-snippets.ts'

let laptop: Laptop
beforeAll(async () => {
  laptop = await startLaptop()
}, 120_000)
afterAll(() => laptop?.stop(), 60_000)

const file = () => join(laptop.data, 'keys', 'master.key')
const status = async () => JSON.parse((await laptop.cli(['keys', 'status', '--json'])).stdout)

/** The commands of docs/high-availability.md for one machine. */
const [ON_ONE_MACHINE = '', IN_A_CLUSTER = '', ...OTHERS] = pageSnippets('high-availability.md', 'sh')
const [ROTATE = [], STATUS = [], ...FURTHER] = snippetCommands(ON_ONE_MACHINE).map(commandWords)

test('the commands of the page are those that this test and the cluster suite run', () => {
  expect([ROTATE, STATUS, ...FURTHER]).toEqual([
    ['chaperone', 'keys', 'rotate'],
    ['chaperone', 'keys', 'status'],
  ])
  expect(snippetCommands(IN_A_CLUSTER).map(commandWords)).toEqual([
    ['kubectl', ...ROTATE],
    ['kubectl', ...STATUS],
  ])
  expect(OTHERS).toEqual([])
})

test('keys rotate replaces the master key of a running installation, and says which backups need the former one', async () => {
  const former = readFileSync(file(), 'utf8')
  const stored = await laptop.cli(['credential', 'set', 'codehost'], { input: 'a-secret' })
  expect(stored.code, stored.stderr).toBe(0)
  const before = await status()
  expect(before).toMatchObject({ is_complete: true, waiting_for: [] })
  const [old] = before.keys as string[]
  const backup = join(laptop.data, '..', 'before.backup')
  const unfinished = `${file()}.killed.new`
  writeFileSync(unfinished, former, { mode: 0o600 })
  expect((await laptop.cli(['backup', backup])).code).toBe(0)
  const key64 = Buffer.from(former).toString('base64')
  expect(gunzipSync(readFileSync(backup)).toString()).not.toContain(key64)

  const rotated = await laptop.cli(ROTATE.slice(1))
  expect(rotated.code, rotated.stderr).toBe(0)
  const [, key = ''] = /^Master key (\S+) encrypts all \d+ stored secrets/m.exec(rotated.stdout) ?? []
  expect(rotated.stdout).toContain(`Removed ${old} from`)
  expect(await status()).toMatchObject({ keys: [key], sealing_key: key, is_complete: true })
  expect(Object.keys((await status()).secrets)).toEqual([key])
  expect(existsSync(unfinished)).toBe(false)
  expect(statSync(file()).mode & 0o777).toBe(0o600)
  expect(readFileSync(file(), 'utf8')).toMatch(new RegExp(`^root ${former.trim().replaceAll('+', '\\+')}\n`))
  const text = await laptop.cli(STATUS.slice(1))
  expect(text.stdout).toMatch(new RegExp(`^KEY +STATE +SECRETS\n${key} +encrypts +\\d+\n$`))
  expect((await laptop.api('GET', '/api/dashboard/credentials')).status).toBe(200)

  // The data folder of the command is an empty one, and the key is that of today.
  const restored = await laptop.cli([
    'restore',
    backup,
    '--master-key',
    file(),
    '--data',
    join(laptop.data, '..', 'restored'),
  ])
  expect(restored.code).toBe(1)
  expect(restored.stderr).toContain(`are encrypted with master key ${old}, but the given key is ${key}`)
  expect(existsSync(join(laptop.data, '..', 'restored', 'keys'))).toBe(false)
}, 180_000)
