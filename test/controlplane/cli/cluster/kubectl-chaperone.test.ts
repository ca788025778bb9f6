import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { kubectlPlugin } from '../../../support/cli-program.ts'

const PROGRAM = kubectlPlugin()
const folder = mkdtempSync(join(tmpdir(), 'chaperone-kubectl-'))
const kubectl = join(folder, 'kubectl')

/** Error of kubectl when the API server of its configuration is unreachable. */
const REFUSED = [
  'E1121 20:51:46.811072 17435 memcache.go:265] "Unhandled Error" err="couldn\'t get current server API group list"',
  'E1121 20:51:46.812571 17435 memcache.go:265] "Unhandled Error" err="couldn\'t get current server API group list"',
  'The connection to the server localhost:8080 was refused - did you specify the right host or port?',
]

beforeAll(() => {
  const lines = REFUSED.map((line) => `echo ${JSON.stringify(line)} >&2`)
  writeFileSync(kubectl, ['#!/bin/sh', ...lines, 'exit 1', ''].join('\n'), { mode: 0o755 })
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function plugin(args: readonly string[], program = kubectl) {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: { ...process.env, KUBECTL: program } })
  const code = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, stdout, stderr }
}

describe('kubectl chaperone', () => {
  test.each([['status'], ['doctor', 'web-0']])(
    '%s reports an unreachable cluster in one line with the remedy, and exits with 3',
    async (...args) => {
      const { code, stderr } = await plugin(args)
      expect(code).toBe(3)
      expect(stderr.trim().split('\n')).toHaveLength(1)
      expect(stderr).toContain('localhost:8080 was refused')
      expect(stderr).toContain('--context')
      expect(stderr).not.toContain('memcache')
    },
  )

  test('an unknown command is rejected without a request to the cluster', async () => {
    const { code, stderr } = await plugin(['frobnicate'])
    expect(code).toBe(2)
    expect(stderr).toContain('frobnicate')
    expect(stderr).toContain('kubectl chaperone help')
  })

  test('a missing kubectl is reported with the remedy', async () => {
    const { code, stderr } = await plugin(['status'], join(folder, 'none'))
    expect(code).toBe(2)
    expect(stderr).toContain('KUBECTL')
  })

  test('prints the help without a command', async () => {
    const { code, stdout } = await plugin([])
    expect(code).toBe(0)
    expect(stdout).toContain('doctor POD')
  })
})
