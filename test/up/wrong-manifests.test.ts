import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databasesFolder } from '../support/memory-folder.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { runCommand } from '../support/run-command.ts'
import { workerPostgres } from '../support/worker-postgres.ts'
import { type Started, stop, up } from './installation-process.ts'

const API = 'apiVersion: chaperone.dev/v1alpha1\n'
const HEAD = `${API}kind: Connector\nmetadata: { name: a }\n`

/** A wrong manifest by file name: the text, and the line with the reason that each command names. */
const WRONG: Readonly<Record<string, { readonly text: string; readonly found: RegExp }>> = {
  '10-wrong.yaml': {
    text: `${HEAD}spec:\n  type: codehoster\n`,
    found: /10-wrong\.yaml:5: spec\.type/,
  },
  '20-orphan.yaml': {
    text: `${HEAD.replace('name: a', 'name: b')}spec:\n  type: codehost\n  gatewayRefs:\n    - name: nowhere\n`,
    found: /20-orphan\.yaml:7: Connector default\/b: spec\.gatewayRefs\[0\]: .*nowhere/,
  },
  '30-repeated.yaml': {
    text: `# A comment moves the lines.\n${API}kind: Permission
metadata: { name: twice }
spec:
  gatewayRefs: [{ name: local }]
  agents: ['*']
  rules:
    - { connectorType: codehost, actionPattern: 'codehost.pr.*', decision: allow }
    - connectorType: codehost
      actionPattern: codehost.pr.*
      decision: deny
`,
    found: /30-repeated\.yaml:10: spec\.rules\[1\]: repeats entry 0/,
  },
  '40-tests.yaml': {
    text: `${HEAD.replace('Connector', 'Policy').replace('name: a', 'name: tested')}spec:
  scope: { actions: ['codehost.pr.merge'] }
  rules: [{ name: all, decision: require_approval }]
  tests:
    - name: right
      action: { type: codehost.pr.merge, resource: { provider: codehost, target: acme/site } }
      expect: { outcome: requires_approval }
    - name: wrong
      action: { type: codehost.pr.merge, resource: { provider: codehost, target: acme/site } }
      expect: { outcome: deny }
`,
    found: /40-tests\.yaml:11: Policy default\/tested: spec\.tests\[1\]: the test "wrong" fails/,
  },
}

let root: string
let server: TestPostgres
let started: Started

beforeAll(async () => {
  root = mkdtempSync(join(databasesFolder(), 'chaperone-wrong-'))
  const manifests = join(root, 'manifests')
  mkdirSync(manifests)
  const gateway = `${API}kind: Gateway\nmetadata: { name: local }\nspec: {}\n`
  writeFileSync(join(manifests, '00-gateway.yaml'), gateway)
  for (const [file, { text }] of Object.entries(WRONG)) writeFileSync(join(manifests, file), text)
  server = await workerPostgres()
  const { url } = await server.createMigratedDatabase()
  const env = { DATABASE_URL: url, XDG_STATE_HOME: join(root, 'state') }
  started = await up(join(root, 'data'), ['--manifests', manifests], env)
})
afterAll(async () => {
  if (started !== undefined) await stop(started)
  await server?.stop()
  rmSync(root, { recursive: true, force: true })
})

describe('a folder with wrong manifests', () => {
  test('a start names each wrong field by file and line, and the reason', () => {
    const text = started.stderr()
    for (const { found } of Object.values(WRONG))
      expect(text).toMatch(new RegExp(`manifest problem: ${found.source}`))
    expect(text).not.toMatch(/\n {4}at /)
  })

  test.each(['status', 'doctor'])(
    '%s names each wrong field by file and line',
    { timeout: 60_000 },
    async (command) => {
      const text = await output(command)
      for (const { found } of Object.values(WRONG)) expect(text).toMatch(found)
    },
  )
})

/** Returns the output of a command that finds the installation not healthy. */
async function output(command: string): Promise<string> {
  const { code, stdout, stderr } = await runCommand(join(root, 'data'), [command])
  expect(code).toBe(1)
  return stdout + stderr
}
