import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { at, type Call, caller, startControlPlane, type TestControlPlane } from './start.ts'

let server: TestPostgres
let plane: TestControlPlane
let folder: string
let admin: Call

beforeAll(async () => {
  server = await workerPostgres()
  folder = await mkdtemp(join(tmpdir(), 'chaperone-policies-'))
  plane = await startControlPlane(await server.createMigratedDatabase(), {
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

/** What a text is answered with, as a policy of its own and as one of a bundle; nothing of it may be stored. */
async function refusals(policyYaml: string): Promise<string[]> {
  const before = at<unknown[]>((await admin('GET', '/api/dashboard/policies')).body, 'policies').length
  const single = await admin('POST', '/api/dashboard/policies', { name: 'hostile', policyYaml })
  expect(single.status, single.text).toBe(400)
  const bundle = { version: '1.0', agents: [], policies: [{ name: 'hostile', policyYaml }] }
  const imported = await admin('POST', '/api/dashboard/import', bundle)
  expect(imported.body, imported.text).toMatchObject({ policies_imported: 0, errors: [{ kind: 'policy' }] })
  const after = at<unknown[]>((await admin('GET', '/api/dashboard/policies')).body, 'policies').length
  expect(after).toBe(before)
  return [at(single.body, 'details'), at(imported.body, 'errors', 0, 'error')]
}

describe('a policy text that is', () => {
  const rule = (fields: string) => `scope: {}\nrules:\n  - { ${fields} }\n`

  test.each([
    ['a NUL in the name of a rule', rule('name: "a\\0b", decision: deny'), 'line 3: rules[0].name'],
    [
      'half a character in a reason',
      rule('name: a, decision: deny, reason: "\\ud800"'),
      'line 3: rules[0].reason',
    ],
    [
      'a NUL in a field of the record',
      `tags: ["a\\0b"]\n${rule('name: a, decision: deny')}`,
      'line 1: tags[0]',
    ],
    ['a NUL in a key', `"a\\0b": 1\n${rule('name: a, decision: deny')}`, 'line 1: policy'],
    [
      'a NUL in a test',
      `${rule('name: a, decision: deny')}tests:\n  - { name: "t\\0", action: { type: a, resource: { provider: a } }, expect: { outcome: deny } }\n`,
      'line 5: tests[0].name',
    ],
  ])('escaped into %s is refused there, and decides nothing', async (_name, policyYaml, place) => {
    for (const said of await refusals(policyYaml)) {
      expect(said).toContain(
        `${place}: the text has a NUL character or an incomplete Unicode character; remove it`,
      )
    }
  })

  test.each([
    ['lists', '['.repeat(100_000)],
    ['closed lists', rule(`name: a, decision: ${'['.repeat(2_000)}${']'.repeat(2_000)}`)],
    ['mappings', '{a: '.repeat(30_000)],
    ['lists in one line', `${'- '.repeat(50_000)}x`],
    ['keys', `${'? '.repeat(50_000)}x`],
    ['blocks', Array.from({ length: 600 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')],
  ])(
    'nested without end by %s is refused by its line, before it costs anything',
    async (_name, policyYaml) => {
      for (const said of await refusals(policyYaml)) {
        expect(said).toMatch(/line \d+: the policy is nested too deeply; use fewer than ten levels$/)
      }
    },
  )

  test('full of mistakes names the first of them and counts the others', async () => {
    const keys = Array.from({ length: 5_000 }, () => 'a: 1').join('\n')
    for (const said of await refusals(keys)) {
      expect(said).toContain('line 2: Map keys must be unique; ')
      expect(said).toMatch(/; policyYaml: and 4979 more$/)
      expect(said.length).toBeLessThan(2_000)
    }
  })

  test('more than one document says so', async () => {
    const two = `${rule('name: a, decision: deny')}---\nb: 1\n`
    for (const said of await refusals(two))
      expect(said).toContain('line 4: a policy must be one YAML document')
  })
})

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

  test('rise in version with each text, and are refused with another expected version than the current one', async () => {
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
    ['rules:\n  - { name: a, decision: perhaps }', /policyYaml: line 2: rules\[0\]\.decision/],
    [
      "rules:\n  - { name: a, decision: deny, conditions: ['action.type ==']}",
      /policyYaml: line 2: rules\[0\]\.conditions\[0\]/,
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

  test('that require a group without members cause a warning', async () => {
    const policyYaml =
      'rules:\n  - { name: a, decision: require_approval, approver_groups: [release-managers] }'
    const { body } = await admin('POST', '/api/dashboard/policies', { name: 'groups', policyYaml })
    expect(at(body, 'warnings', 0)).toContain('No account is in the group "release-managers".')
  })
})

describe('unknown names', () => {
  const typo = (field: string) => `scope: { actions: ["codehost.pr.mrege"] }
rules:
  - { name: r, conditions: ['${field} == "a"'], decision: require_approval, approver_groups: [nobody] }
`

  test('are errors in conditions, and warnings as actions and groups, wherever a policy is written', async () => {
    const refused = await admin('POST', '/api/dashboard/policies', {
      name: 'typo',
      policyYaml: typo('action.tpye'),
    })
    expect(refused.status).toBe(400)
    expect(refused.text).toContain('did you mean type?')
    const semicolon = await admin('POST', '/api/dashboard/policies', {
      name: 'typo',
      policyYaml: typo('"a; b" == action.tpye && "c"'),
    })
    expect(semicolon.text.match(/policyYaml: /g)).toHaveLength(2)
    const created = await admin('POST', '/api/dashboard/policies', {
      name: 'typo',
      policyYaml: typo('action.type'),
    })
    expect(created.status, created.text).toBe(200)
    const warnings = at<string[]>(created.body, 'warnings').join()
    expect(warnings).toContain('Did you mean codehost.pr.merge?')
    expect(warnings).toContain('No account is in the group "nobody".')
    const checked = await admin('POST', '/api/dashboard/policies/check', { policyYaml: typo('action.type') })
    expect(at<string[]>(checked.body, 'warnings').join()).toBe(warnings)
    const patch = { policy_id: at<string>(created.body, 'policy_id'), description: 'x' }
    expect(
      at<string[]>((await admin('PATCH', '/api/dashboard/policies', patch)).body, 'warnings').join(),
    ).toBe(warnings)
  })
})
