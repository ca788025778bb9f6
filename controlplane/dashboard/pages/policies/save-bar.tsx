import { Button, Group, Paper, Text } from '@mantine/core'
import { useState } from 'react'
import type { PolicyDetails } from '../../../../core/wire/policies.ts'
import { call } from '../../api/client.ts'
import { ConfirmButton } from '../../components/form/confirm-button.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { navigate } from '../../routing/use-page-location.ts'
import { useSession } from '../../session/session.tsx'
import { changesOf, draftOf, type PolicyDraft } from './draft.ts'
import type { Check } from './use-check.ts'

type Props = {
  /** Version that the edit is based on; null for a new policy. */
  readonly base: PolicyDetails | null
  readonly stored: PolicyDetails | null
  readonly draft: PolicyDraft
  readonly check: Check
  readonly onSaved: () => void
  readonly onCreated: () => void
  readonly onRebase: (policy: PolicyDetails) => void
}

/** Saves or deletes the policy, or shows why it cannot be saved. */
export function SaveBar({ base, stored, draft, check, onSaved, onCreated, onRebase }: Props) {
  const wording = wordingOf(useSession().isYaml, base === null)
  const changes = base === null ? draft : changesOf(draftOf(base), draft)
  const isChanged = Object.keys(changes).length > 0
  const obstacle = obstacleOf(draft, check, isChanged)
  const isBehind = base !== null && stored !== null && stored.version !== base.version
  const [saved, setSaved] = useState<number | null>(null)
  const save = useMutation(async () => {
    if (base === null) {
      const made = await call('POST /api/dashboard/policies', { body: { ...draft, name: draft.name.trim() } })
      onCreated()
      navigate('policies', { policy: made.policy_id })
      return
    }
    const body = { policy_id: base.id, expected_version: base.version, ...changes }
    const { version } = await call('PATCH /api/dashboard/policies', { body })
    setSaved(version)
    onRebase({ ...base, ...draft, version })
    onSaved()
  })
  return (
    <Paper withBorder p="sm" component="section" aria-label="Save">
      {save.error === null ? null : <ErrorNote error={save.error} />}
      <Group justify="space-between" gap="sm">
        <Text size="sm" role="status" className="grow">
          {isBehind
            ? `Another user has saved version ${stored.version}. Discard your changes to continue.`
            : (savedText(saved, base, isChanged) ?? obstacle ?? wording.about)}
        </Text>
        <Group gap="sm">
          {isBehind ? (
            <Button variant="default" onClick={() => onRebase(stored)}>
              Discard changes
            </Button>
          ) : null}
          {base === null ? null : (
            <ConfirmButton
              label="Remove"
              size="sm"
              title="Remove this policy"
              onConfirm={async () => {
                await call('DELETE /api/dashboard/policies', { query: { policy_id: base.id } })
                navigate('policies')
              }}
            >
              Permissions and the other policies then decide about its actions. All versions of the policy are
              deleted.
            </ConfirmButton>
          )}
          <Button onClick={() => save.run()} loading={save.isBusy} disabled={obstacle !== null || isBehind}>
            {wording.save}
          </Button>
        </Group>
      </Group>
    </Paper>
  )
}

/** Returns a sentence about the version that was saved; null before the first save and after a change of the draft. */
function savedText(saved: number | null, base: PolicyDetails | null, isChanged: boolean): string | null {
  if (saved === null || base?.version !== saved || isChanged) return null
  return `Version ${saved} is saved. Gateways apply it within a second.`
}

function wordingOf(isYaml: boolean, isNew: boolean): { readonly about: string; readonly save: string } {
  if (isYaml)
    return {
      about:
        'This installation takes policies from manifests, so changes are not saved here. Show the manifest, and commit it.',
      save: 'Show manifest',
    }
  return {
    about: 'Gateways apply the saved policy within a second.',
    save: isNew ? 'Create' : 'Save',
  }
}

/** Returns the reason why the policy cannot be saved; null if it can be saved. */
function obstacleOf(
  draft: PolicyDraft,
  { reply, isCurrent, error }: Check,
  isChanged: boolean,
): string | null {
  if (draft.name.trim() === '') return 'Enter a name.'
  if (error !== null) return `The text could not be checked: ${error.message}`
  if (reply === null || !isCurrent) return 'Checking the text …'
  const [problem] = reply.problems
  if (problem !== undefined)
    return problem.line === null ? problem.message : `Line ${problem.line}: ${problem.message}`
  const failing = reply.tests.find(({ passed }) => !passed)
  if (failing !== undefined)
    return `Test "${failing.name}" fails (${failing.failure ?? ''}). Correct the rules or the test.`
  return isChanged ? null : 'No changes.'
}
