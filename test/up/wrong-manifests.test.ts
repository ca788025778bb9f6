import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { databasesFolder } from '../support/memory-folder.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { workerPostgres } from '../support/worker-postgres.ts'
import { type Started, stop, up } from './installation-process.ts'

let root: string
let server: TestPostgres
let started: Started

beforeAll(async () => {
  root = mkdtempSync(join(databasesFolder(), 'chaperone-wrong-'))
  const manifests = join(root, 'manifests')
  mkdirSync(manifests)
  const head = 'apiVersion: chaperone.dev/v1alpha1\nkind: Connector\nmetadata: { name: a }\n'
  writeFileSync(join(manifests, '10-wrong.yaml'), `${head}spec:\n  type: codehoster\n`)
  const orphan = `${head.replace('name: a', 'name: b')}spec:\n  type: codehost\n  gatewayRefs: [{ name: nowhere }]\n`
  writeFileSync(join(manifests, '20-orphan.yaml'), orphan)
  server = await workerPostgres()
  const { url } = await server.createMigratedDatabase()
  const env = { DATABASE_URL: url, XDG_STATE_HOME: join(root, 'state') }
  started = await up(join(root, 'data'), ['--manifests', manifests], env)
}, 60_000)
afterAll(async () => {
  if (started !== undefined) await stop(started)
  await server?.stop()
  rmSync(root, { recursive: true, force: true })
}, 60_000)

test('a start names each wrong object of the manifests folder by file and line, and the reason', () => {
  expect(started.stderr()).toMatch(/manifest problem: 10-wrong\.yaml:5: spec\.type/)
  expect(started.stderr()).toMatch(/manifest problem: 20-orphan\.yaml: Connector default\/b: .*nowhere/)
  expect(started.stderr()).not.toMatch(/\n {4}at /)
})
