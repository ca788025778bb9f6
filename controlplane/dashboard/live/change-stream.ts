import type { ChangeKind } from '../../../core/wire/dashboard.ts'

export type LiveStatus = 'connecting' | 'live' | 'lost'

export type ChangeStream = {
  /** Hears when one of these kinds changed, and after every time that news may have been missed. */
  subscribe(kinds: readonly ChangeKind[], listener: () => void): () => void
  onStatus(listener: (status: LiveStatus) => void): () => void
  close(): void
}

const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 10_000
const PATH = '/api/dashboard/events'

/** One stream for the whole page. It comes back by itself; whoever listens is then told to look again. */
export function createChangeStream(): ChangeStream {
  const listeners = new Set<{ readonly kinds: readonly ChangeKind[]; readonly listener: () => void }>()
  const statusListeners = new Set<(status: LiveStatus) => void>()
  let status: LiveStatus = 'connecting'
  let source: EventSource | null = null
  let retryMs = FIRST_RETRY_MS
  let timer = 0

  const become = (next: LiveStatus) => {
    if (next === status) return
    status = next
    for (const listener of statusListeners) listener(next)
  }
  const tell = (concerns: (kinds: readonly ChangeKind[]) => boolean) => {
    for (const { kinds, listener } of [...listeners]) if (concerns(kinds)) listener()
  }
  const open = () => {
    source = new EventSource(PATH)
    source.addEventListener('open', () => {
      retryMs = FIRST_RETRY_MS
      become('live')
      // What was read before may have missed a change, the first time too.
      tell(() => true)
    })
    source.addEventListener('change', (event) => {
      const changed = kindsOf(event.data)
      tell((kinds) => kinds.some((kind) => changed.includes(kind)))
    })
    source.addEventListener('error', () => {
      become('lost')
      // A refusal (a session that ended, a server that starts) ends the source for good: it is made again.
      if (source?.readyState !== EventSource.CLOSED) return
      timer = window.setTimeout(open, retryMs)
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)
      tell(() => true)
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
