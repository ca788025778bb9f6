import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { ApprovalCard } from '../../../../core/wire/gateway/internal.ts'
import type { ApiError } from '../../api/api-error.ts'
import { call } from '../../api/client.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { useResource } from '../../live/use-resource.ts'
import { useSession } from '../../session/session.tsx'
import { AlwaysAllowButton } from './always-allow/always-allow-button.tsx'
import { policyBehind } from './always-allow/permission-proposal.ts'
import { answerObstacle } from './answer-obstacle.ts'
import { GrantButton } from './grant/grant-button.tsx'
import { UndoButton } from './undo-button.tsx'

type Props = {
  readonly card: ApprovalCard
  /** Called with the answer, or with null when the user dismisses a card whose approval had already ended. */
  readonly onAnswered: (approved: boolean | null) => void
  /** Called when the answer was accepted but further approver groups must still answer. */
  readonly onPartly: () => void
}

/**
 * Renders the form that approves or denies a request. The agent and the audit log receive the reason that the approver
 * enters.
 */
export function AnswerForm({ card, onAnswered, onPartly }: Props) {
  const { user, may } = useSession()
  const groups = card.required_approver_groups
  const users = useResource('GET /api/dashboard/users', may('users/get') && groups.length > 0 ? {} : null)
  const [note, setNote] = useState('')
  const answer = useMutation(async (approved: boolean) => {
    const text = note.trim()
    const body = { id: card.id, approved, ...(text === '' ? {} : { note: text }) }
    const { status } = await call('POST /api/dashboard/proxy-approvals', { body })
    if (status === 'pending') onPartly()
    else onAnswered(approved)
  })
  const mayAllowAlways = may('permissions/update') || (policyBehind(card) !== null && may('policies/get'))
  const obstacle = answerObstacle(user, card, users.data?.users ?? null)
  if (obstacle !== null) {
    return (
      <Group gap="xs">
        <Text size="sm" c="dimmed" role="note">
          {obstacle}
        </Text>
        {card.answers.some(({ by }) => by === user.email) ? (
          <UndoButton id={card.id} label="Withdraw my answer" onUndone={onPartly} />
        ) : null}
      </Group>
    )
  }
  return (
    <Stack gap="sm">
      {answer.error === null ? null : <AnswerError error={answer.error} onDismiss={() => onAnswered(null)} />}
      <Group align="flex-end" gap="sm">
        <TextInput
          className="grow"
          label="Reason"
          placeholder="Kept in the audit log"
          value={note}
          maxLength={2_000}
          onChange={(event) => setNote(event.currentTarget.value)}
          data-key="reason"
        />
        <Button
          className="answer go"
          leftSection={<Icon name="check" />}
          onClick={() => answer.run(true)}
          loading={answer.isBusy}
          data-key="approve"
        >
          Approve
        </Button>
        <Button
          className="answer danger"
          leftSection={<Icon name="cross" />}
          onClick={() => answer.run(false)}
          loading={answer.isBusy}
          data-key="deny"
        >
          Deny
        </Button>
      </Group>
      <Group gap="xs">
        <GrantButton card={card} onAnswered={onAnswered} />
        {mayAllowAlways ? <AlwaysAllowButton card={card} /> : null}
      </Group>
    </Stack>
  )
}

/**
 * Shows why an answer failed. After a final error (404, 409, 410), the approver can dismiss the card. After any other
 * error, the approver can retry.
 */
function AnswerError({ error, onDismiss }: { readonly error: ApiError; readonly onDismiss: () => void }) {
  const isSettled = error.status === 404 || error.status === 409 || error.status === 410
  if (!isSettled) return <ErrorNote error={error} />
  return <ErrorNote error={error} onRetry={onDismiss} retryLabel="Dismiss" />
}
