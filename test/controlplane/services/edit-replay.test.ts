import { expect, test } from 'vitest'
import { createReplayedEdit } from '../../../controlplane/features/manifests/editing/edit-replay.ts'
import {
  EditedInYaml,
  type EditedPolicy,
} from '../../../controlplane/features/manifests/editing/edited-in-yaml.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'

const POLICY: EditedPolicy = {
  ...{ id: 'pol_1', isStored: false, isRemoved: false, name: 'mine', policyYaml: 'rules: []', enabled: true },
  ...{ priority: 100, mode: 'enforce', gatewayIds: [], tests: [] },
}
const NONE = { considered: 0, skipped: 0, changes: [] }
const refusing = (policies: readonly EditedPolicy[]) => async () => {
  throw new EditedInYaml({ remedy: 'Commit it.', policies })
}

async function extraOf(visible: () => Promise<Namespaces>, edit: () => Promise<unknown>) {
  const asked: unknown[] = []
  const policyReplay = async (namespaces: Namespaces, input: object) => {
    asked.push([namespaces, input])
    return NONE
  }
  const error = await createReplayedEdit(policyReplay)(visible, edit).catch((cause: unknown) => cause)
  return { error, extra: (error as ChaperoneError).options.extra, asked }
}
const nowhere = () => Promise.reject(new ChaperoneError('forbidden'))

test('requests are replayed only for the namespaces in which the caller may read records', async () => {
  const team = new Set(['team'])
  const seen = await extraOf(async () => team, refusing([POLICY]))
  expect(seen.extra).toMatchObject({ editing: 'yaml', replay: NONE })
  const drafts = (...ids: (string | undefined)[]) => ({
    drafts: ids.map((policyId) => expect.objectContaining({ policyId })),
    limit: 200,
  })
  expect(seen.asked).toEqual([[team, drafts(undefined)]])
  const stored = await extraOf(async () => 'all', refusing([{ ...POLICY, isStored: true }, POLICY]))
  expect(stored.asked).toEqual([['all', drafts('pol_1', undefined)]])

  const refused = await extraOf(nowhere, refusing([POLICY]))
  expect(refused.extra).toMatchObject({ editing: 'yaml', tests: [{ policy: 'mine', tests: [] }] })
  expect([refused.extra, refused.asked]).toEqual([expect.not.objectContaining({ replay: NONE }), []])
})

test('an API server that does not answer, other refusals and other edits are left as they are', async () => {
  const away = new ChaperoneError('not_ready')
  expect((await extraOf(() => Promise.reject(away), refusing([POLICY]))).error).toBe(away)
  const conflict = new ChaperoneError('conflict')
  expect((await extraOf(nowhere, () => Promise.reject(conflict))).error).toBe(conflict)
  expect((await extraOf(nowhere, refusing([]))).asked).toEqual([])
})
