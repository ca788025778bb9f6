import { useState } from 'react'
import type { ApprovalCard } from '../../../../core/wire/gateway/internal.ts'
import { useResource } from '../../live/use-resource.ts'

type Cards = readonly ApprovalCard[]

/** Tolerated clock difference between page and server, in milliseconds. */
const TOLERANCE_MS = 2_000
const NEWEST = 200

/**
 * Returns pending cards, and cards that expired while the page was open. Expired cards stay, because an approver could
 * mistake their silent removal for an answer. Cards that another approver has answered are removed.
 */
export function useKeptCards(pending: Cards): {
  readonly cards: Cards
  readonly dismiss: (id: string) => void
} {
  const [known, setKnown] = useState<{ readonly pending: Cards; readonly expired: Cards }>({
    pending,
    expired: [],
  })
  const [dismissed, setDismissed] = useState<ReadonlySet<string>>(new Set())
  // The state is set during the render, because an effect would unmount cards that stay and mount them again.
  if (known.pending !== pending) {
    const gone = without([...known.expired, ...known.pending], idsOf(pending))
    setKnown({ pending, expired: gone.filter(isExpired) })
  }
  const all = useResource(
    'GET /api/dashboard/proxy-approvals',
    known.expired.length === 0 ? null : { query: { limit: NEWEST } },
  )
  const answered = idsOf(all.data?.approvals.filter(isAnswered) ?? [])
  const cards = [...without(known.expired, answered), ...pending]
    .filter(({ id }) => !dismissed.has(id))
    .sort((a, b) => Date.parse(a.expires_at) - Date.parse(b.expires_at))
  return { cards, dismiss: (id) => setDismissed((before) => new Set([...before, id])) }
}

function isExpired({ expires_at }: ApprovalCard): boolean {
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
