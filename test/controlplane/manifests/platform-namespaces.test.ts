import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestDatabase, TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { startControlPlane, type TestControlPlane } from '../routes/start.ts'

let postgres: TestPostgres
let database: TestDatabase
let plane: TestControlPlane
let dir = ''

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'chaperone-platform-'))
  writeFileSync(join(dir, 'operator.token'), 'operator')
  postgres = await workerPostgres()
  database = await postgres.createMigratedDatabase()
})
afterAll(async () => {
  await plane?.close()
  await postgres?.stop()
  rmSync(dir, { recursive: true, force: true })
})

async function start(platformNamespaces: string): Promise<void> {
  await plane?.close()
  plane = await startControlPlane(database, {
    OPERATOR_TOKEN_FILE: join(dir, 'operator.token'),
    PLATFORM_NAMESPACES: platformNamespaces,
  })
}
const operator = async (method: string, path: string, body?: unknown) => {
  const answer = await plane.call(method, `/api/operator/objects/${path}`, body, {
    authorization: 'Bearer operator',
  })
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}
const apply = (kind: string, namespace: string, name: string, spec: object) =>
  operator('PUT', `${kind}/${namespace}/${name}`, {
    ...{ uid: `${kind}-${namespace}-${name}`, generation: 1, source: 'kubernetes' },
    managed_by: `kubernetes ${kind} ${namespace}/${name}`,
    resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace }, spec },
  })
const gatewaysOf = async (namespace: string) => (await operator('GET', `Policy/${namespace}/p`))['gateways']

test('a Policy is bound anew when the control plane starts with other namespaces of the platform', async () => {
  await start('security')
  await apply('Gateway', 'team', 'own', {})
  await apply('Gateway', 'tenant', 'own', {})
  const spec = { rules: [{ name: 'r', decision: 'deny' }] }
  for (const namespace of ['security', 'team']) await apply('Policy', namespace, 'p', spec)
  expect([await gatewaysOf('security'), await gatewaysOf('team')]).toEqual([null, ['team/own']])

  await start('team')
  expect(await gatewaysOf('team')).toBeNull()
  // It has no Gateway of its own: it is for none now.
  expect(await operator('GET', 'Policy/security/p')).toMatchObject({
    ...{ accepted: false, problem: 'GatewayNotFound', in_force: 'nothing', gateways: [] },
  })

  await start('security,team')
  expect([await gatewaysOf('security'), await gatewaysOf('team')]).toEqual([null, null])
  await start('')
  expect([await gatewaysOf('security'), await gatewaysOf('team')]).toEqual([[], ['team/own']])
})
