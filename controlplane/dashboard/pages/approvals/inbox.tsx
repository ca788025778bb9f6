import { Alert, Anchor, Stack } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { ApprovalCard } from '../../../../core/wire/internal.ts'
import { useNow } from '../../live/use-now.ts'
import { Icon } from '../../parts/icon.tsx'
import { TeachingEmpty } from '../../parts/teaching-empty.tsx'
import { hrefOf } from '../../routing/place.ts'
import { PendingCard } from './pending-card.tsx'
import { useInboxKeys } from './use-inbox-keys.ts'

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
      <TeachingEmpty icon="approvals" title="Nothing waits for you">
        When a permission or a policy says "require approval", the agent's request stops and appears here at
        once. An unanswered one is refused when its time is over.
      </TeachingEmpty>
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

/** A card whose time ran out while it was looked at stays until it is put away: silence would look like an answer. */
function useKeptCards(pending: readonly ApprovalCard[]) {
  const now = useNow(1_000)
  const [kept, setKept] = useState<ReadonlyMap<string, ApprovalCard>>(new Map())
  const [forgotten, setForgotten] = useState<ReadonlySet<string>>(new Set())
  useEffect(() => {
    setKept((before) => new Map([...before, ...pending.map((card) => [card.id, card] as const)]))
  }, [pending])
  const ids = new Set(pending.map(({ id }) => id))
  const isShown = (card: ApprovalCard) =>
    !forgotten.has(card.id) && (ids.has(card.id) || Date.parse(card.expires_at) <= now)
  const cards = [...new Map([...kept, ...pending.map((card) => [card.id, card] as const)]).values()]
    .filter(isShown)
    .sort((a, b) => (a.expires_at < b.expires_at ? -1 : 1))
  return { cards, forget: (id: string) => setForgotten((before) => new Set([...before, id])) }
}

/** Whoever works with the keyboard goes on with the next card instead of at the top of the page. */
function focusNeighbour(list: HTMLElement | null, id: string): void {
  const cards = [...(list?.querySelectorAll<HTMLElement>('[data-approval]') ?? [])]
  const at = cards.findIndex((card) => card.dataset['approval'] === id)
  const next = cards[at + 1] ?? cards[at - 1]
  next?.focus()
}
