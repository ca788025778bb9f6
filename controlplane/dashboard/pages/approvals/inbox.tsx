import { Alert, Anchor, Stack } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { ApprovalCard } from '../../../../core/wire/gateway/internal.ts'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { hrefOf } from '../../routing/page-location.ts'
import { AnsweredNote } from './answered-note.tsx'
import { PendingCard } from './card/pending-card.tsx'
import { useInboxKeys } from './use-inbox-keys.ts'
import { useKeptCards } from './use-kept-cards.ts'

type Props = {
  readonly pending: readonly ApprovalCard[]
  /** Id of the approval that the URL names; null when the URL names no approval. */
  readonly linkedId: string | null
  readonly onAnswered: () => void
}

/**
 * Lists pending approvals, ordered by their expiry. Cards keep their position and their input while other cards are
 * added or removed.
 */
export function Inbox({ pending, linkedId, onAnswered }: Props) {
  const list = useRef<HTMLDivElement>(null)
  const { cards, dismiss } = useKeptCards(pending)
  useInboxKeys(list)
  useEffect(() => {
    if (linkedId !== null) document.getElementById(linkedId)?.scrollIntoView({ block: 'start' })
  }, [linkedId])
  const [results, setResults] = useState<readonly Result[]>([])
  const dismissResult = (id: string) => setResults((before) => before.filter(({ card }) => card.id !== id))
  const isAnswered = results.some(({ card }) => card.id === linkedId)
  const isGone = linkedId !== null && !isAnswered && !cards.some(({ id }) => id === linkedId)
  if (cards.length === 0 && results.length === 0) {
    return isGone ? (
      <GoneNote id={linkedId} />
    ) : (
      <EmptyState icon="approvals" title="No pending approvals">
        When a permission or a policy requires approval, the gateway holds the request and it appears here. If
        no approver answers before the approval expires, the gateway refuses the request.
      </EmptyState>
    )
  }
  return (
    <Stack ref={list} gap="md" aria-live="polite">
      {isGone ? <GoneNote id={linkedId} /> : null}
      {inOrder(cards, results).map(({ card, approved }) =>
        approved === null ? (
          <PendingCard
            key={card.id}
            card={card}
            onAnswered={(answer) => {
              if (answer === null) focusNext(list.current, card.id)
              else setResults((before) => [...before, { card, approved: answer }])
              dismiss(card.id)
              onAnswered()
            }}
            onPartly={onAnswered}
            onDismiss={() => dismiss(card.id)}
          />
        ) : (
          <AnsweredNote
            key={card.id}
            card={card}
            approved={approved}
            onDismiss={() => {
              focusNext(list.current, card.id)
              dismissResult(card.id)
            }}
          />
        ),
      )}
    </Stack>
  )
}

type Result = { readonly card: ApprovalCard; readonly approved: boolean }

/** Merges pending cards and results into one list, in which a result takes the place of its card. */
function inOrder(cards: readonly ApprovalCard[], results: readonly Result[]) {
  const answered = new Set(results.map(({ card }) => card.id))
  const pending = cards.filter(({ id }) => !answered.has(id)).map((card) => ({ card, approved: null }))
  return [...pending, ...results].sort(
    (a, b) => Date.parse(a.card.expires_at) - Date.parse(b.card.expires_at),
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
      <Anchor inherit href={hrefOf('approvals', { tab: 'answered', id })} underline="always">
        Show the result
      </Anchor>
    </Alert>
  )
}

/**
 * Moves the keyboard focus to the next card, because browsers reset the focus to the top of the page when they remove
 * the focused card.
 */
function focusNext(list: HTMLElement | null, id: string): void {
  const cards = [...(list?.querySelectorAll<HTMLElement>('[data-approval], [data-result]') ?? [])]
  const at = cards.findIndex((card) => card.dataset['approval'] === id || card.dataset['result'] === id)
  const next = cards[at + 1] ?? cards[at - 1]
  next?.focus()
}
