import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startPostgres, type TestPostgres } from '../../support/postgres.ts'
import { at, type Call, caller, startControlPlane, type TestControlPlane } from './start.ts'

let server: TestPostgres
let plane: TestControlPlane
let folder: string
let admin: Call

beforeAll(async () => {
  server = await startPostgres()
  folder = await mkdtemp(join(tmpdir(), 'chaperone-policies-'))
  plane = await startControlPlane(await server.createDatabase(), {
    ADMIN_TOKEN_FILE: join(folder, 'admin.token'),
  })
  const token = (await readFile(join(folder, 'admin.token'), 'utf8')).trim()
  admin = caller(plane.url, { authorization: `Bearer ${token}` })
})

afterAll(async () => {
  await plane?.close()
  await server?.stop()
  await rm(folder, { recursive: true, force: true })
})

const text = (decision: string, expected = decision) => `scope: { actions: ["codehost.*"] }
rules:
  - name: all
    decision: ${decision}
tests:
  - name: everything
    action: { type: codehost.issue.create, resource: { provider: codehost } }
    expect: { outcome: ${expected} }
`

describe('policies', () => {
  test('of a fresh installation are the default ones, in force and ordinary', async () => {
    const { body } = await admin('GET', '/api/dashboard/policies')
    const policies = at<{ name: string; active: boolean; enabled: boolean }[]>(body, 'policies')
    expect(policies.map((policy) => policy.name)).toEqual([
      'default-deny-destructive',
      'default-approve-risky',
      'default-allow-safe',
    ])
    expect(policies.every((policy) => policy.active && policy.enabled)).toBe(true)
  })

  test('rise in version with each text, and are guarded by the version that somebody read', async () => {
    const made = await admin('POST', '/api/dashboard/policies', {
      name: 'mine',
      policyYaml: text('deny'),
      tags: ['a'],
    })
    expect(made.body).toMatchObject({
      ok: true,
      version: 1,
      active: true,
      tests: [{ name: 'everything', passed: true }],
    })
    const patch = (fields: object) =>
      admin('PATCH', '/api/dashboard/policies', { policy_id: at(made.body, 'policy_id'), ...fields })
    expect((await patch({ policyYaml: text('allow'), expected_version: 1 })).body).toMatchObject({
      version: 2,
      active: true,
    })
    const late = await patch({ policyYaml: text('deny'), expected_version: 1 })
    expect(late.status).toBe(409)
    expect(late.body).toMatchObject({ version: 2 })
    expect((await patch({ priority: 7 })).body).toMatchObject({ version: 2 })
    expect((await patch({ policyYaml: text('allow') })).body).toMatchObject({ version: 2 })
  })

  test('whose tests fail are stored and not put in force', async () => {
    const made = await admin('POST', '/api/dashboard/policies', { name: 'broken', policyYaml: text('deny') })
    const id = at(made.body, 'policy_id')
    const changed = await admin('PATCH', '/api/dashboard/policies', {
      policy_id: id,
      policyYaml: text('allow', 'deny'),
    })
    expect(changed.status).toBe(200)
    expect(changed.body).toMatchObject({
      ok: true,
      version: 2,
      active: false,
      tests: [{ passed: false, failure: 'expected deny, got allow by rule all' }],
    })
    const { body } = await admin('GET', '/api/dashboard/policies')
    const row = at<{ id: string }[]>(body, 'policies').find((policy) => policy.id === id)
    expect(row).toMatchObject({
      version: 2,
      active_version: 1,
      active: false,
      policyYaml: text('allow', 'deny'),
    })
  })

  test.each([
    ['rules: [', /policyYaml: line 1/],
    ['rules:\n  - { name: a, decision: perhaps }', /policyYaml: line 2: rules\.0\.decision/],
    [
      "rules:\n  - { name: a, decision: deny, conditions: ['action.type ==']}",
      /policyYaml: line 2: rules\.0\.conditions\.0/,
    ],
    ['priority: 5\nrules:\n  - { name: a, decision: deny }', /policyYaml: priority/],
  ])('with the text %j are refused by line', async (policyYaml, details) => {
    const answer = await admin('POST', '/api/dashboard/policies', { name: 'bad', policyYaml, priority: 9 })
    expect(answer.status).toBe(400)
    expect(at(answer.body, 'details')).toMatch(details)
  })

  test('are enabled, disabled and removed', async () => {
    const made = await admin('POST', '/api/dashboard/policies', { name: 'brief', policyYaml: text('deny') })
    const policy_id = at(made.body, 'policy_id')
    await admin('PATCH', '/api/dashboard/policies', { policy_id, enabled: false })
    expect((await admin('DELETE', `/api/dashboard/policies?policy_id=${policy_id}`)).body).toEqual({
      ok: true,
    })
    expect((await admin('DELETE', `/api/dashboard/policies?policy_id=${policy_id}`)).status).toBe(404)
  })

  test('that ask a group nobody is in say so', async () => {
    const policyYaml =
      'rules:\n  - { name: a, decision: require_approval, approver_groups: [release-managers] }'
    const { body } = await admin('POST', '/api/dashboard/policies', { name: 'groups', policyYaml })
    expect(at(body, 'warnings', 0)).toContain('Nobody is in the group "release-managers"')
  })
})
