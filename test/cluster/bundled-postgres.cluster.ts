import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { openControlPlane } from './control-plane.ts'
import { install, SYSTEM, uninstall } from './installation.ts'
import { kube } from './kubectl.ts'

const { values } = inject('installation')
const bundled = [
  ...values.flatMap((value, at) =>
    value.startsWith('database.') || values[at + 1]?.startsWith('database.') ? [] : [value],
  ),
  ...['--set', 'postgres.bundled=true,postgres.persistence.enabled=false'],
]

beforeAll(uninstall)
afterAll(async () => {
  await uninstall()
  await kube(['delete', 'secret', 'chaperone-postgres', '-n', SYSTEM, '--ignore-not-found'])
})

test('with its bundled database the chart needs nothing but itself', async () => {
  await install({ values: bundled })
  await using controlPlane = await openControlPlane()
  const health = await controlPlane
    .call<{ checks: { database: { status: string } } }>('GET', '/api/health')
    .catch((error: Error) => error)
  expect(JSON.stringify(health instanceof Error ? health.message : health)).toContain(
    '"database":{"status":"ok"',
  )
  const roles = await kube(['logs', 'statefulset/chaperone-postgres', '-n', SYSTEM])
  expect(roles).not.toContain('FATAL')
})
