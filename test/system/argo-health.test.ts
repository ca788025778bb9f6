import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { goProgram } from '../support/go-program.ts'

/** The interpreter of Argo CD. */
const glua = goProgram('glua', 'github.com/yuin/gopher-lua/cmd/glua@v1.1.1')
const PAGE = join(import.meta.dirname, '../../docs/gitops.md')

/** The script of the page, as Argo CD reads it from its ConfigMap. */
function script(): string {
  const block = /## Argo CD[\s\S]*?```yaml\n([\s\S]*?)```/.exec(readFileSync(PAGE, 'utf8'))?.[1] ?? ''
  const { data } = parse(block) as { data: Record<string, string> }
  const customizations = parse(data['resource.customizations'] ?? '') as Record<
    string,
    { 'health.lua': string }
  >
  expect(Object.keys(customizations)).toEqual(['chaperone.dev/*'])
  return customizations['chaperone.dev/*']?.['health.lua'] ?? ''
}

function lua(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(lua).join(',')}}`
  if (typeof value === 'object' && value !== null)
    return `{${Object.entries(value)
      .map(([key, each]) => `[${JSON.stringify(key)}]=${lua(each)}`)
      .join(',')}}`
  return JSON.stringify(value)
}

function health(program: string, object: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'chaperone-lua-'))
  try {
    const file = join(folder, 'health.lua')
    const called = `local function health()\n${script()}\nend\nlocal hs = health()\nprint(hs.status .. ": " .. hs.message)`
    writeFileSync(file, `obj = ${lua(object)}\n${called}\n`)
    return execFileSync(program, [file], { encoding: 'utf8' }).trim()
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const condition = (type: string, status: string, reason: string, observedGeneration = 2) => ({
  ...{ type, status, reason, observedGeneration, message: `${type} is ${status}` },
})
const object = (...conditions: object[]) => ({
  ...{ kind: 'Gateway', metadata: { name: 'default', generation: 2 }, status: { conditions } },
})
const READY = condition('Ready', 'True', 'Ready')

describe.skipIf(!glua.isAvailable)(
  'the health script for Argo CD (gopher-lua, compiled by test:nightly)',
  () => {
    test.each([
      ['a new object', { metadata: { generation: 1 } }, 'Progressing: waiting for the operator'],
      [
        'an object in force',
        object(condition('Accepted', 'True', 'Accepted'), READY),
        'Healthy: Ready is True',
      ],
      ['a refused object', object(condition('Ready', 'False', 'NotAccepted')), 'Degraded: Ready is False'],
      [
        'an unreconciled one',
        object(condition('Ready', 'Unknown', 'Pending')),
        'Progressing: Ready is Unknown',
      ],
      [
        'a changed object with the status of its former generation',
        object(condition('Ready', 'True', 'Ready', 1)),
        'Progressing: waiting for the operator',
      ],
      [
        'a stopped Gateway',
        object(READY, condition('KillSwitchActive', 'True', 'Gateway')),
        'Suspended: KillSwitchActive is True',
      ],
      [
        'no kill switch',
        object(condition('KillSwitchActive', 'False', 'NotActive'), READY),
        'Healthy: Ready is True',
      ],
    ])('says of %s what it is', async (_what, given, wanted) => {
      expect(health(await glua.install(), given)).toBe(wanted)
    })
  },
)
