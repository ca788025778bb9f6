import type { ChangeKind } from '../../../core/wire/overview.ts'

export type LiveStatus = 'connecting' | 'live' | 'lost'

export type ChangeStream = {
  /**
   * Calls the listener when an object of one of these kinds changed. Also calls the listener after each interruption
   * of the stream, because a change may have been missed.
   */
  subscribe(kinds: readonly ChangeKind[], listener: () => void): () => void
  onStatus(listener: (status: LiveStatus) => void): () => void
  close(): void
}

const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 10_000
const PATH = '/api/dashboard/events'

/** Opens one event stream for the page. The stream reconnects with back-off and then notifies all subscribers. */
export function createChangeStream(): ChangeStream {
  const listeners = new Set<{ readonly kinds: readonly ChangeKind[]; readonly listener: () => void }>()
  const statusListeners = new Set<(status: LiveStatus) => void>()
  let status: LiveStatus = 'connecting'
  let source: EventSource | null = null
  let retryMs = FIRST_RETRY_MS
  let timer = 0

  const setStatus = (next: LiveStatus) => {
    if (next === status) return
    status = next
    for (const listener of statusListeners) listener(next)
  }
  const publish = (matches: (kinds: readonly ChangeKind[]) => boolean) => {
    for (const { kinds, listener } of [...listeners]) if (matches(kinds)) listener()
  }
  const open = () => {
    source = new EventSource(PATH)
    source.addEventListener('open', () => {
      retryMs = FIRST_RETRY_MS
      setStatus('live')
      // Notifies all subscribers, because a change before the stream was opened may have been missed.
      publish(() => true)
    })
    source.addEventListener('change', (event) => {
      const changed = kindsOf(event.data)
      publish((kinds) => kinds.some((kind) => changed.includes(kind)))
    })
    source.addEventListener('error', () => {
      setStatus('lost')
      // An HTTP error (an expired session, a starting server) closes the EventSource permanently, so a new EventSource
      // is created.
      if (source?.readyState !== EventSource.CLOSED) return
      timer = window.setTimeout(open, retryMs)
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)
      publish(() => true)
    })
  }
  open()
  return {
    subscribe(kinds, listener) {
      const entry = { kinds, listener }
      listeners.add(entry)
      return () => listeners.delete(entry)
    },
    onStatus(listener) {
      statusListeners.add(listener)
      listener(status)
      return () => statusListeners.delete(listener)
    },
    close() {
      clearTimeout(timer)
      source?.close()
    },
  }
}

function kindsOf(data: unknown): readonly ChangeKind[] {
  const { kinds } = JSON.parse(String(data)) as { kinds: readonly ChangeKind[] }
  return kinds
}
