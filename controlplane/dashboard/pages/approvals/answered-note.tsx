import { Anchor, Button, Group, Paper, Text } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { ApprovalCard } from '../../../../core/wire/gateway/internal.ts'
import { DecisionBadge } from '../../components/decision/decision-badge.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { hrefOf } from '../../routing/page-location.ts'
import { UndoButton } from './undo-button.tsx'

/** Shows the result of an answer in place of its card, and keeps the keyboard focus on this result. */
export function AnsweredNote(props: {
  readonly card: ApprovalCard
  readonly approved: boolean
  readonly onDismiss: () => void
}) {
  const { card, approved, onDismiss } = props
  const [isUndone, setIsUndone] = useState(false)
  const place = useRef<HTMLDivElement>(null)
  const focus = () => place.current?.focus({ preventScroll: true })
  useEffect(focus, [])
  return (
    <Paper
      withBorder
      p="sm"
      component="section"
      role="status"
      ref={place}
      tabIndex={-1}
      data-result={card.id}
      aria-label="Result"
    >
      <Group justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
        <div className="min-0">
          <DecisionBadge decision={isUndone ? 'cancelled' : approved ? 'approved' : 'denied'} />{' '}
          <UntrustedText text={card.summary ?? `${card.action_type} of ${card.agent}`} canGrow />
          <Text size="sm" c="dimmed" component="div">
            {isUndone ? UNDONE : outcomeText(card, approved)}{' '}
            <Anchor
              size="sm"
              underline="always"
              href={hrefOf('traffic', { action_type: card.action_type, agent: card.agent })}
            >
              Show the requests
            </Anchor>
          </Text>
        </div>
        <Group gap="xs" justify="flex-end">
          {approved && !isUndone && isUndoable(card) ? (
            <UndoButton
              id={card.id}
              onUndone={() => {
                setIsUndone(true)
                // Sets the focus, because browsers move the focus to the top of the page when the focused button is
                // removed.
                focus()
              }}
            />
          ) : null}
          <Button size="compact-sm" variant="default" onClick={onDismiss}>
            Dismiss
          </Button>
        </Group>
      </Group>
    </Paper>
  )
}

const ACCESS_APPROVED =
  'No request waited for this approval, so the gateway sent nothing. A grant or permission that you made covers later requests; without one, the agent has no more access than before.'
const ACCESS_DENIED = 'The agent has no more access than before, and can ask again.'
const UNDONE = 'The approval is withdrawn, so it no longer lets a request pass.'

/**
 * Reports whether the approval can be withdrawn. A gateway uses the approval of a waiting request at once; other
 * approvals stay unused until the agent acts.
 */
function isUndoable({ left_at: leftAt, kind, access_request: isAccess }: ApprovalCard): boolean {
  return kind === 'action' || leftAt != null || isAccess === true
}

function outcomeText({ left_at: leftAt, kind, access_request: isAccess }: ApprovalCard, approved: boolean) {
  if (isAccess === true) return approved ? ACCESS_APPROVED : ACCESS_DENIED
  if (!approved) return 'The agent received the denial and your reason. Nothing was sent.'
  if (kind === 'action') return 'The agent can now execute the action once.'
  if (leftAt != null)
    return 'The agent had disconnected. The request passes once if the agent repeats it within five minutes.'
  return 'The gateway sends the request. An answer cannot be taken back.'
}
