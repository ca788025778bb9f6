import { type RefObject, useEffect } from 'react'

/** Keyboard shortcuts of the inbox. A shortcut only moves the focus; Enter activates the focused control. */
export const INBOX_KEYS = [
  { key: 'j', description: 'next card' },
  { key: 'k', description: 'previous card' },
  { key: 'a', description: 'focus Approve' },
  { key: 'd', description: 'focus Deny' },
  { key: 'r', description: 'focus the reason' },
] as const

const TARGETS: Readonly<Record<string, string>> = { a: 'approve', d: 'deny', r: 'reason' }

/** Handles the keyboard shortcuts of the inbox. No single key answers a request. */
export function useInboxKeys(list: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const cards = [...(list.current?.querySelectorAll<HTMLElement>('[data-approval], [data-result]') ?? [])]
      const current = cards.findIndex((card) => card.contains(document.activeElement))
      const target = targetElement(event.key, cards, current)
      if (target === null) return
      event.preventDefault()
      target.focus()
      target.scrollIntoView({ block: 'nearest' })
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [list])
}

function targetElement(key: string, cards: readonly HTMLElement[], current: number): HTMLElement | null {
  if (key === 'j') return cards[Math.min(current + 1, cards.length - 1)] ?? null
  if (key === 'k') return cards[Math.max(current - 1, 0)] ?? null
  const target = TARGETS[key]
  const card = cards[Math.max(current, 0)]
  return target === undefined ? null : (card?.querySelector<HTMLElement>(`[data-key="${target}"]`) ?? null)
}

/** Reports whether the event target accepts text. Keyboard shortcuts are disabled in elements that accept text. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.matches('input, textarea, select') || target.isContentEditable)
  )
}
