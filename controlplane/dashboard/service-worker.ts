/**
 * The part of a service worker's global scope that this file uses. TypeScript's library `dom` declares only the global
 * scope of a window.
 */
type Scope = {
  readonly location: { readonly origin: string }
  readonly registration: {
    showNotification(
      title: string,
      options: { readonly body: string; readonly tag: string; readonly data: unknown },
    ): Promise<void>
  }
  readonly clients: {
    matchAll(options: { readonly type: 'window' }): Promise<readonly Client[]>
    openWindow(url: string): Promise<unknown>
  }
  skipWaiting(): Promise<void>
  addEventListener(type: 'install', listener: () => void): void
  addEventListener(type: 'push', listener: (event: PushEvent) => void): void
  addEventListener(type: 'notificationclick', listener: (event: ClickEvent) => void): void
}
type Client = { readonly url: string; focus(): Promise<unknown>; navigate(url: string): Promise<unknown> }
type Waiting = { waitUntil(work: Promise<unknown>): void }
type PushEvent = Waiting & { readonly data: { json(): unknown } | null }
type ClickEvent = Waiting & { readonly notification: { readonly data: unknown; close(): void } }

const scope = self as unknown as Scope

scope.addEventListener('install', () => {
  void scope.skipWaiting()
})

/**
 * Shows the number of pending approvals. Notifications that an open page shows have the same tag, so a newer
 * notification replaces an older one.
 */
scope.addEventListener('push', (event) => {
  const { count, link } = messageOf(event.data)
  const body = count === null ? 'Notifications reach this browser.' : 'Open Chaperone to answer.'
  const shown = { body, tag: 'chaperone-approvals', data: link }
  event.waitUntil(scope.registration.showNotification(titleOf(count), shown))
})

scope.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(open(String(event.notification.data)))
})

function titleOf(count: number | null): string {
  if (count === null) return 'Chaperone test message'
  return count === 1 ? '1 pending approval' : `${count} pending approvals`
}

/**
 * Reads a message. When the message is not JSON or has no valid link, the notification opens the page of approvals.
 */
function messageOf(data: PushEvent['data']): { readonly count: number | null; readonly link: string } {
  const { count, link } = jsonOf(data)
  return {
    count: typeof count === 'number' ? count : null,
    link: typeof link === 'string' && link.startsWith('/#/') ? link : '/#/approvals',
  }
}

function jsonOf(data: PushEvent['data']): { readonly count?: unknown; readonly link?: unknown } {
  try {
    return Object(data?.json())
  } catch {
    return {}
  }
}

/** Shows the page of the link in an existing window of this origin; if there is none, opens a new window. */
async function open(link: string): Promise<void> {
  const url = scope.location.origin + link
  const [client] = await scope.clients.matchAll({ type: 'window' })
  if (client === undefined) await scope.clients.openWindow(url)
  else await (await client.navigate(url).then(() => client)).focus()
}
