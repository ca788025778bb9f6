import { Alert, Anchor, Stack } from '@mantine/core'
import { useEffect, useRef } from 'react'
import type { ApprovalCard } from '../../../../core/wire/internal.ts'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { hrefOf } from '../../routing/page-location.ts'
import { PendingCard } from './card/pending-card.tsx'
import { useInboxKeys } from './use-inbox-keys.ts'
import { useKeptCards } from './use-kept-cards.ts'

type Props = {
  readonly pending: readonly ApprovalCard[]
  /** Of a link that leads to one card. */
  readonly wanted: string | null
  readonly onAnswered: () => void
}

/** The oldest first: it has the least time left. Cards keep their place and what was typed while others come and go. */
export function Inbox({ pending, wanted, onAnswered }: Props) {
  const list = useRef<HTMLDivElement>(null)
  const { cards, forget } = useKeptCards(pending)
  useInboxKeys(list)
  useEffect(() => {
    if (wanted !== null) document.getElementById(wanted)?.scrollIntoView({ block: 'start' })
  }, [wanted])
  const isGone = wanted !== null && !cards.some(({ id }) => id === wanted)
  if (cards.length === 0) {
    return isGone ? (
      <GoneNote id={wanted} />
    ) : (
      <EmptyState icon="approvals" title="Nothing waits for you">
        When a permission or a policy says "require approval", the agent's request stops and appears here at
        once. An unanswered one is refused when its time is over.
      </EmptyState>
    )
  }
  return (
    <Stack ref={list} gap="md" aria-live="polite">
      {isGone ? <GoneNote id={wanted} /> : null}
      {cards.map((card) => (
        <PendingCard
          key={card.id}
          card={card}
          onAnswered={() => {
            focusNeighbour(list.current, card.id)
            forget(card.id)
            onAnswered()
          }}
          onPartly={onAnswered}
          onDismiss={() => forget(card.id)}
        />
      ))}
    </Stack>
  )
}

/** A link of the chat or of the overview that is opened late. */
function GoneNote({ id }: { readonly id: string }) {
  return (
    <Alert
      variant="outline"
      color="gray"
      icon={<Icon name="check" />}
      title="This one does not wait any more"
      className="note"
    >
      It was answered, its time ran out, or its agent went away.{' '}
      <Anchor href={hrefOf('approvals', { tab: 'answered', id })} underline="always">
        See what came of it
      </Anchor>
    </Alert>
  )
}

/** Whoever works with the keyboard goes on with the next card instead of at the top of the page. */
function focusNeighbour(list: HTMLElement | null, id: string): void {
  const cards = [...(list?.querySelectorAll<HTMLElement>('[data-approval]') ?? [])]
  const at = cards.findIndex((card) => card.dataset['approval'] === id)
  const next = cards[at + 1] ?? cards[at - 1]
  next?.focus()
}
