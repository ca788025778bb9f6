import { type RefObject, useEffect } from 'react'

/** j and k walk the cards; a, d and r go to Approve, Deny and Reason of the card in focus. Enter then does it. */
export const INBOX_KEYS = [
  { key: 'j', means: 'next card' },
  { key: 'k', means: 'card before' },
  { key: 'a', means: 'to Approve' },
  { key: 'd', means: 'to Deny' },
  { key: 'r', means: 'to the reason' },
] as const

const TARGETS: Readonly<Record<string, string>> = { a: 'approve', d: 'deny', r: 'reason' }

/** Never answers by itself: a key moves the focus, a second one acts on what is then marked. */
export function useInboxKeys(list: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const cards = [...(list.current?.querySelectorAll<HTMLElement>('[data-approval]') ?? [])]
      const current = cards.findIndex((card) => card.contains(document.activeElement))
      const wanted = wantedElement(event.key, cards, current)
      if (wanted === null) return
      event.preventDefault()
      wanted.focus()
      wanted.scrollIntoView({ block: 'nearest' })
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [list])
}

function wantedElement(key: string, cards: readonly HTMLElement[], current: number): HTMLElement | null {
  if (key === 'j') return cards[Math.min(current + 1, cards.length - 1)] ?? null
  if (key === 'k') return cards[Math.max(current - 1, 0)] ?? null
  const target = TARGETS[key]
  const card = cards[Math.max(current, 0)]
  return target === undefined ? null : (card?.querySelector<HTMLElement>(`[data-key="${target}"]`) ?? null)
}

/** Letters are then letters. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.matches('input, textarea, select') || target.isContentEditable)
  )
}
