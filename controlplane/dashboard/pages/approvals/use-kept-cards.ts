import { useState } from 'react'
import type { ApprovalCard } from '../../../../core/wire/internal.ts'
import { useResource } from '../../live/use-resource.ts'

type Cards = readonly ApprovalCard[]

/** The clocks of page and server differ a little. */
const TOLERANCE_MS = 2_000
const NEWEST = 200

/**
 * What waits, and what did until its time ran out while somebody looked: silence would look like an answer. A card that
 * another person has answered goes, whenever the page hears of it.
 */
export function useKeptCards(pending: Cards): {
  readonly cards: Cards
  readonly forget: (id: string) => void
} {
  const [known, setKnown] = useState<{ readonly pending: Cards; readonly over: Cards }>({ pending, over: [] })
  const [forgotten, setForgotten] = useState<ReadonlySet<string>>(new Set())
  // While it is rendered, not after it: a card that stays must not be taken away and made anew in between.
  if (known.pending !== pending) {
    const gone = without([...known.over, ...known.pending], idsOf(pending))
    setKnown({ pending, over: gone.filter(isOver) })
  }
  const all = useResource(
    'GET /api/dashboard/proxy-approvals',
    known.over.length === 0 ? null : { query: { limit: NEWEST } },
  )
  const answered = idsOf(all.data?.approvals.filter(isAnswered) ?? [])
  const cards = [...without(known.over, answered), ...pending]
    .filter(({ id }) => !forgotten.has(id))
    .sort((a, b) => Date.parse(a.expires_at) - Date.parse(b.expires_at))
  return { cards, forget: (id) => setForgotten((before) => new Set([...before, id])) }
}

function isOver({ expires_at }: ApprovalCard): boolean {
  return Date.parse(expires_at) <= Date.now() + TOLERANCE_MS
}

function isAnswered({ status }: ApprovalCard): boolean {
  return status !== 'pending' && status !== 'expired'
}

function idsOf(cards: Cards): ReadonlySet<string> {
  return new Set(cards.map(({ id }) => id))
}

function without(cards: Cards, ids: ReadonlySet<string>): Cards {
  return cards.filter(({ id }) => !ids.has(id))
}
