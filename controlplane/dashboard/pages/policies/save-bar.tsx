import { Button, Group, Paper, Text } from '@mantine/core'
import type { Policy } from '../../api/admin-shapes.ts'
import { call } from '../../api/client.ts'
import { ConfirmButton } from '../../components/form/confirm-button.tsx'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { navigate } from '../../routing/use-page-location.ts'
import { useSession } from '../../session/session.tsx'
import { changesOf, draftOf, type PolicyDraft } from './draft.ts'
import type { Check } from './use-check.ts'

type Props = {
  /** The version that the editing began with; null for a new policy. */
  readonly base: Policy | null
  readonly stored: Policy | null
  readonly draft: PolicyDraft
  readonly check: Check
  readonly onSaved: () => void
  readonly onBegin: (policy: Policy) => void
}

/** What is between the text and its being in force. */
export function SaveBar({ base, stored, draft, check, onSaved, onBegin }: Props) {
  const wording = wordingOf(useSession().isYaml, base === null)
  const changes = base === null ? draft : changesOf(draftOf(base), draft)
  const obstacle = obstacleOf(draft, check, Object.keys(changes).length > 0)
  const isBehind = base !== null && stored !== null && stored.version !== base.version
  const save = useMutation(async () => {
    if (base === null) {
      const made = await call('POST /api/dashboard/policies', { body: { ...draft, name: draft.name.trim() } })
      navigate('policies', { policy: made.policy_id })
      return
    }
    const body = { policy_id: base.id, expected_version: base.version, ...changes }
    const { version } = await call('PATCH /api/dashboard/policies', { body })
    onBegin({ ...base, ...draft, version })
    onSaved()
  })
  return (
    <Paper withBorder p="sm" component="section" aria-label="Save">
      {save.error === null ? null : <ErrorNote error={save.error} />}
      <Group justify="space-between" gap="sm">
        <Text size="sm" role="status" className="grow">
          {isBehind
            ? `Version ${stored.version} was saved by somebody else meanwhile.`
            : (obstacle ?? wording.about)}
        </Text>
        <Group gap="sm">
          {isBehind ? (
            <Button variant="default" onClick={() => onBegin(stored)}>
              Begin again with it
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
              What it denied or held is then up to permissions and the other policies. Its versions go with
              it.
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

function wordingOf(isYaml: boolean, isNew: boolean): { readonly about: string; readonly save: string } {
  if (isYaml) return { about: 'Nothing is saved here. Show the manifest to commit.', save: 'Show manifest' }
  return {
    about: 'Saving puts it in force at every gateway within a second.',
    save: isNew ? 'Create' : 'Save',
  }
}

/** Why it cannot be saved yet, as a sentence; null when it can. */
function obstacleOf(
  draft: PolicyDraft,
  { reply, isCurrent, error }: Check,
  isChanged: boolean,
): string | null {
  if (draft.name.trim() === '') return 'Give it a name.'
  if (error !== null) return `It could not be checked: ${error.message}`
  if (reply === null || !isCurrent) return 'Checking the text …'
  const [problem] = reply.problems
  if (problem !== undefined)
    return problem.line === null ? problem.message : `Line ${problem.line}: ${problem.message}`
  const failing = reply.tests.find(({ passed }) => !passed)
  if (failing !== undefined)
    return `Its test "${failing.name}" fails (${failing.failure ?? ''}): correct the rules or the test.`
  return isChanged ? null : 'Nothing was changed.'
}
