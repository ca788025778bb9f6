import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
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
