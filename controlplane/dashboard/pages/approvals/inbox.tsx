import { Alert, Anchor, Stack } from '@mantine/core'
import { useEffect, useRef } from 'react'
import type { ApprovalCard } from '../../../../core/wire/gateway/internal.ts'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { hrefOf } from '../../routing/page-location.ts'
import { PendingCard } from './card/pending-card.tsx'
import { useInboxKeys } from './use-inbox-keys.ts'
import { useKeptCards } from './use-kept-cards.ts'

type Props = {
  readonly pending: readonly ApprovalCard[]
  /** Id of the approval that the URL links to; null without such a link. */
  readonly linkedId: string | null
  readonly onAnswered: () => void
}

/**
 * Lists pending approvals, those that expire first on top. Cards keep their position and their input while other cards are
 * added or removed.
 */
export function Inbox({ pending, linkedId, onAnswered }: Props) {
  const list = useRef<HTMLDivElement>(null)
  const { cards, dismiss } = useKeptCards(pending)
  useInboxKeys(list)
  useEffect(() => {
    if (linkedId !== null) document.getElementById(linkedId)?.scrollIntoView({ block: 'start' })
  }, [linkedId])
  const isGone = linkedId !== null && !cards.some(({ id }) => id === linkedId)
  if (cards.length === 0) {
    return isGone ? (
      <GoneNote id={linkedId} />
    ) : (
      <EmptyState icon="approvals" title="No pending approvals">
        When a permission or a policy requires approval, the gateway holds the request and it appears here. If
        no approver answers before it expires, the gateway refuses it.
      </EmptyState>
    )
  }
  return (
    <Stack ref={list} gap="md" aria-live="polite">
      {isGone ? <GoneNote id={linkedId} /> : null}
      {cards.map((card) => (
        <PendingCard
          key={card.id}
          card={card}
          onAnswered={() => {
            focusNext(list.current, card.id)
            dismiss(card.id)
            onAnswered()
          }}
          onPartly={onAnswered}
          onDismiss={() => dismiss(card.id)}
        />
      ))}
    </Stack>
  )
}

/** Renders a notice for a link to an approval that is no longer pending. */
function GoneNote({ id }: { readonly id: string }) {
  return (
    <Alert
      variant="outline"
      color="gray"
      icon={<Icon name="check" />}
      title="This approval is no longer pending"
      className="note"
    >
      It was answered, it expired, or its agent disconnected.{' '}
      <Anchor href={hrefOf('approvals', { tab: 'answered', id })} underline="always">
        Show the result
      </Anchor>
    </Alert>
  )
}

/**
 * Moves the keyboard focus to the next card, because browsers reset the focus to the top of the page when they remove the
 * focused card.
 */
function focusNext(list: HTMLElement | null, id: string): void {
  const cards = [...(list?.querySelectorAll<HTMLElement>('[data-approval]') ?? [])]
  const at = cards.findIndex((card) => card.dataset['approval'] === id)
  const next = cards[at + 1] ?? cards[at - 1]
  next?.focus()
}
