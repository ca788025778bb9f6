import { createContext, type ReactNode, use, useEffect, useRef } from 'react'
import { navigate } from '../routing/use-page-location.ts'
import { useSession } from '../session/session.tsx'
import { useResource } from './use-resource.ts'

const PendingContext = createContext(0)

/** Returns the number of pending approvals if the user may answer approvals; otherwise 0. */
export function usePendingCount(): number {
  return use(PendingContext)
}

/**
 * Provides the number of pending approvals to the components in `children`. Shows the number in the icon of the browser
 * tab and in notifications of the browser.
 */
export function PendingProvider({ children }: { readonly children: ReactNode }) {
  const { may } = useSession()
  const { data } = useResource('GET /api/dashboard/overview', may('approvals/answer') ? {} : null, {
    on: ['approvals'],
  })
  const count = data?.pending_approvals ?? 0
  useIcon(count)
  useNotification(data === null ? null : count)
  return <PendingContext value={count}>{children}</PendingContext>
}

function useIcon(count: number): void {
  useEffect(() => {
    const show = (shown: number) =>
      document.querySelector('link[rel="icon"]')?.setAttribute('href', iconOf(shown))
    show(count)
    return () => show(0)
  }, [count])
}

const MAX_SHOWN = 9

/** Returns the icon as a data URL: a shield with a dot that contains the count. */
function iconOf(count: number): string {
  const text = count > MAX_SHOWN ? `${MAX_SHOWN}+` : String(count)
  const dot =
    count === 0
      ? ''
      : `<circle cx="22" cy="22" r="10" fill="#c92a2a"/><text x="22" y="26.5" font-size="13" font-weight="700" font-family="sans-serif" text-anchor="middle" fill="#fff">${text}</text>`
  const shield = '<path d="M16 2 28 6v9c0 8-5 12-12 15C9 27 4 23 4 15V6Z" fill="#4263eb"/>'
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${shield}${dot}</svg>`
  return `data:image/svg+xml,${encodeURIComponent(svg)}`
}

/**
 * Shows a notification of the browser when approvals are added while the page does not have the focus. The notification
 * contains only the number, because operating systems show notifications on locked screens too.
 */
function useNotification(count: number | null): void {
  const known = useRef<number | null>(null)
  useEffect(() => {
    const before = known.current
    known.current = count
    if (count === null || before === null || count <= before) return
    if (!('Notification' in window) || Notification.permission !== 'granted' || document.hasFocus()) return
    const title = count === 1 ? '1 pending approval' : `${count} pending approvals`
    showNotification(title)
  }, [count])
}

function showNotification(title: string): void {
  try {
    const shown = new Notification(title, { tag: 'chaperone-approvals', body: 'Open Chaperone to answer.' })
    shown.onclick = () => {
      window.focus()
      navigate('approvals')
      shown.close()
    }
  } catch (error) {
    // On phones, browsers throw a `TypeError`, because only a service worker may show notifications there. Web Push
    // uses a service worker.
    if (!(error instanceof TypeError)) throw error
  }
}
