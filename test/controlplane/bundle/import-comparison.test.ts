import { expect, test } from 'vitest'
import { startTestInstallation } from '../routes/installation.ts'
import { at } from '../routes/start.ts'

const POLICY = `rules:
  - { name: no-deletes, conditions: ['action.type == "codehost.repo.delete"'], decision: deny }
`
const FAILING = `${POLICY}tests:
  - name: deletes are allowed
    action: { type: codehost.repo.delete, resource: { provider: codehost } }
    expect: { outcome: allow }
`

test('skip_same stores a policy that omits fields unless the existing one has their defaults', async () => {
  const omitting = { name: 'guard', policyYaml: POLICY }
  const repeating = { name: 'quiet', policyYaml: `enabled: false\n${POLICY}` }
  await using other = await startTestInstallation()
  const existing = async (name: string) => {
    const { body } = await other.admin('GET', '/api/dashboard/policies')
    return at<{ id: string; name: string }[]>(body, 'policies').filter((row) => row.name === name)
  }
  const send = (fields: object) =>
    other.admin('POST', '/api/dashboard/import', {
      ...{ version: '1.0', policies: [omitting, repeating] },
      ...fields,
    })
  expect((await send({})).body).toMatchObject({ policies_imported: 2, errors: [] })
  expect((await send({ skip_same: true })).body).toMatchObject({
    policies_imported: 0,
    skipped: { policies: ['guard', 'quiet'] },
  })
  const [stored] = await existing('guard')
  const values = { enabled: true, mode: 'enforce', priority: 100 }
  for (const [field, value] of Object.entries({ enabled: false, mode: 'monitor', priority: 7 })) {
    const changed = { policy_id: stored?.id, ...values, [field]: value }
    expect((await other.admin('PATCH', '/api/dashboard/policies', changed)).status).toBe(200)
    expect(at((await send({ dry_run: true })).body, 'preview')).toEqual([
      { kind: 'policy', name: 'guard', state: 'changed', differs: [field] },
      { kind: 'policy', name: 'quiet', state: 'same' },
    ])
  }
  expect((await send({ skip_same: true })).body).toMatchObject({ policies_imported: 1 })
  expect(await existing('guard')).toContainEqual(expect.objectContaining(values))
})

test('leaves the default policies enabled when no imported policy is enabled', async () => {
  await using other = await startTestInstallation()
  const policies = [
    { name: 'off', policyYaml: POLICY, enabled: false },
    { name: 'failing', policyYaml: FAILING },
  ]
  const report = await other.admin('POST', '/api/dashboard/import', { version: '1.0', policies })
  expect(report.body).toMatchObject({ policies_imported: 2, errors: [] })
  expect(report.body).not.toHaveProperty('defaults_disabled')
})
