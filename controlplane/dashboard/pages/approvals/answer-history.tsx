import { Anchor, Button, Group, Paper, Stack, Text } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { ApprovalCard } from '../../../../core/wire/gateway/internal.ts'
import { ActionName } from '../../components/decision/action-name.tsx'
import { answeredBy } from '../../components/decision/answered-by.ts'
import { DecisionBadge } from '../../components/decision/decision-badge.tsx'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { TimeText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { usePast } from '../../live/use-past.ts'
import { useResource } from '../../live/use-resource.ts'
import { hrefOf } from '../../routing/page-location.ts'
import { useSession } from '../../session/session.tsx'
import { hasDisconnected } from './card/has-disconnected.ts'
import { UndoButton } from './undo-button.tsx'

const STEP = 50

/** Lists completed approvals, newest first. */
export function AnswerHistory({ linkedId }: { readonly linkedId: string | null }) {
  const [limit, setLimit] = useState(STEP)
  const all = useResource('GET /api/dashboard/proxy-approvals', { query: { limit } }, { on: ['approvals'] })
  return (
    <Loaded of={all}>
      {({ approvals, total }) => {
        const answered = approvals.filter((card) => card.status !== 'pending' || hasDisconnected(card))
        if (answered.length === 0) {
          return (
            <EmptyState icon="clock" title="No completed approvals">
              Completed approvals appear here with their reason. The audit log keeps them too.
            </EmptyState>
          )
        }
        return (
          <Stack gap="xs">
            {answered.map((card) => (
              <Answered key={card.id} card={card} isLinked={card.id === linkedId} onUndone={all.reload} />
            ))}
            {total > approvals.length ? (
              <Button
                variant="default"
                onClick={() => setLimit(Math.min(limit + STEP, 500))}
                disabled={limit >= 500}
              >
                {limit >= 500 ? 'Older approvals are in the audit log' : 'Show older approvals'}
              </Button>
            ) : null}
          </Stack>
        )
      }}
    </Loaded>
  )
}

type AnsweredProps = {
  readonly card: ApprovalCard
  readonly isLinked: boolean
  readonly onUndone: () => void
}

function Answered({ card, isLinked, onUndone }: AnsweredProps) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!isLinked) return
    place.current?.scrollIntoView({ block: 'center' })
    place.current?.focus()
  }, [isLinked])
  return (
    <Paper
      withBorder
      p="sm"
      component="article"
      ref={place}
      tabIndex={-1}
      data-answered={card.id}
      className={isLinked ? 'answered-linked' : ''}
    >
      <Group justify="space-between" gap="xs" align="flex-start">
        <div className="grow-long">
          <Group gap="xs">
            <DecisionBadge decision={card.status} />
            <ActionName type={card.action_type} />
          </Group>
          <Text size="sm" component="div" mt={4}>
            <UntrustedText text={card.agent} />
            {card.target === null ? null : ' on '}
            {card.target === null ? null : <UntrustedText text={card.target} />}
          </Text>
          <Text size="sm" c="dimmed" component="div">
            {hasDisconnected(card)
              ? 'The agent disconnected'
              : card.responded_by === null
                ? 'No answer'
                : `By ${answeredBy(card)}`}
            {card.note === null ? null : ': '}
            {card.note === null ? null : <UntrustedText text={card.note} />}
          </Text>
        </div>
        <Group gap="sm">
          <Undo card={card} onUndone={onUndone} />
          <Text size="sm" component="span">
            <TimeText at={card.created_at} />
          </Text>
          <Anchor size="sm" href={hrefOf('traffic', { action_type: card.action_type, agent: card.agent })}>
            Traffic
          </Anchor>
        </Group>
      </Group>
    </Paper>
  )
}

/**
 * Renders the button that withdraws an approval, while the approval is unused and `withdrawable_until` has not passed.
 */
function Undo({ card, onUndone }: Pick<AnsweredProps, 'card' | 'onUndone'>) {
  const { may } = useSession()
  const isLapsed = usePast(card.withdrawable_until ?? card.created_at)
  if (card.withdrawable_until == null || isLapsed || !may('approvals/answer')) return null
  return <UndoButton id={card.id} onUndone={onUndone} />
}
