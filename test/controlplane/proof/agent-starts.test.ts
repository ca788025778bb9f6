import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { noNamespaces } from '../../capture/network.ts'
import { type Laptop, startLaptop } from '../../support/laptop.ts'
import { size } from '../../support/proof.ts'

/** Agents that are started at the same moment, as a CI matrix or a terminal multiplexer does. */
const AT_ONCE = size(10, 200)
vi.setConfig({ testTimeout: size(120_000, 1_200_000) })

let laptop: Laptop
beforeAll(async () => {
  laptop = await startLaptop({ database: 'worker', isCaptured: true })
})
afterAll(() => laptop?.stop())

const WAYS: ReadonlyArray<readonly [way: string, options: readonly string[]]> = [
  ['with proxy variables', []],
  ...(noNamespaces() === null ? [['captured', ['--capture']] as const] : []),
]

test.each(WAYS)(`${AT_ONCE} starts at once, %s, all run their command`, async (_way, options) => {
  const starts = Array.from({ length: AT_ONCE }, (_, index) =>
    laptop.cli(['run', ...options, '--', 'sh', '-c', `test -s "$WGETRC" && echo ${index}`]),
  )
  const failed = (await Promise.all(starts)).flatMap(({ code, stdout, stderr }, index) =>
    code === 0 && stdout === `${index}\n` ? [] : [`${index}: exit code ${code}: ${stderr}`],
  )
  expect(failed).toEqual([])
  const files = readdirSync(join(laptop.data, 'gateway'))
  expect(files.filter((name) => /new|\.tmp/.test(name))).toEqual([])
})

test('a start writes no file anew whose content is the same', async () => {
  const files = ['wgetrc', 'truststore.p12'].map((name) => join(laptop.data, 'gateway', name))
  const marks = () => files.map((file) => `${lstatSync(file).ino} ${lstatSync(file).mtimeMs}`)
  expect((await laptop.cli(['run', '--', 'true'])).code).toBe(0)
  const before = marks()
  expect((await laptop.cli(['run', '--', 'true'])).code).toBe(0)
  expect(marks()).toEqual(before)
})
