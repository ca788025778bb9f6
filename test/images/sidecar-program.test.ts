import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DEFAULT_PROXY_COMMAND } from '../../core/inject/options.ts'
import { assembleSidecarProgram } from '../../scripts/image/sidecar-program.ts'

const FLAGS = DEFAULT_PROXY_COMMAND.filter((word) => word.startsWith('--'))
let bin: string

beforeAll(() => {
  bin = mkdtempSync(join(tmpdir(), 'chaperone-program-'))
  assembleSidecarProgram(join(import.meta.dirname, '../..'), bin)
})
afterAll(() => rmSync(bin, { recursive: true, force: true }))

function node(...args: readonly string[]) {
  return spawnSync(process.execPath, [...FLAGS, ...args], { env: {}, encoding: 'utf8', cwd: bin })
}

test('the sidecar of the image is the sidecar: it reads its settings and says which is missing', () => {
  const { status, stderr } = node('sidecar.cjs')
  expect(stderr).toContain('DATA_DIR is not set')
  expect(status).toBe(1)
})

test('what V8 made of it at the build is taken under the flags that pods start it with', () => {
  const check = `
    const vm = require('node:vm')
    class Seen extends vm.Script {
      constructor(code, options) { super(code, options); console.log('rejected:', this.cachedDataRejected) }
    }
    vm.Script = Seen
    require('./sidecar.cjs')`
  expect(node('-e', check).stdout).toContain('rejected: false')
})

test('without it the program starts all the same', () => {
  rmSync(join(bin, 'sidecar-program.cache'))
  expect(node('sidecar.cjs').stderr).toContain('DATA_DIR is not set')
  expect(existsSync(join(bin, 'sidecar-program.cache'))).toBe(false)
})
