import { useEffect, useState } from 'react'
import type { AuditEntry, AuditReply } from '../../../../core/wire/audit.ts'
import { call } from '../../api/client.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import type { AuditFilterQuery } from './audit-query.ts'

type Older = { readonly key: string; readonly events: readonly AuditEntry[]; readonly cursor: string | null }

/**
 * Returns the newest page and the older pages that the user loaded, without duplicates. A change of filters discards
 * the older pages.
 */
export function useOlder(filter: AuditFilterQuery, newest: AuditReply | null, limit: number) {
  const key = JSON.stringify(filter)
  const [older, setOlder] = useState<Older | null>(null)
  useEffect(() => setOlder((before) => (before?.key === key ? before : null)), [key])
  const cursor = older === null ? (newest?.next_cursor ?? null) : older.cursor
  const load = useMutation(async () => {
    if (cursor === null) return
    const reply = await call('GET /api/dashboard/audit', { query: { ...filter, limit, cursor } })
    const before = older?.events ?? newest?.events ?? []
    setOlder({ key, events: [...before, ...reply.events], cursor: reply.next_cursor })
  })
  const all = [...(newest?.events ?? []), ...(older?.events ?? [])]
  const events = [...new Map(all.map((event) => [event.id, event])).values()]
  return { events, hasMore: cursor !== null, more: () => load.run(), isBusy: load.isBusy, error: load.error }
}
