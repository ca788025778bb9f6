import { useEffect, useState } from 'react'
import type { TrafficRecord } from '../../../../core/record.ts'
import { call } from '../../api/client.ts'
import type { ReplyOf } from '../../api/operations.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { type Filters, trafficQuery } from './filters.ts'

type Reply = ReplyOf<'GET /api/dashboard/traffic'>
type Older = {
  readonly key: string
  readonly records: readonly TrafficRecord[]
  readonly cursor: string | null
}

/**
 * Returns the newest page and the older pages that the user loaded, without duplicates. A change of filters discards
 * the older pages.
 */
export function useOlder(filters: Filters, newest: Reply | null, limit: number) {
  const key = JSON.stringify(filters)
  const [older, setOlder] = useState<Older | null>(null)
  useEffect(() => setOlder((before) => (before?.key === key ? before : null)), [key])
  const cursor = older === null ? (newest?.next_cursor ?? null) : older.cursor
  const load = useMutation(async () => {
    if (cursor === null) return
    const reply = await call('GET /api/dashboard/traffic', {
      query: { ...trafficQuery(filters, limit), cursor },
    })
    // Keeps the records that are no longer on the first page because newer records were added.
    const before = older?.records ?? newest?.traffic ?? []
    setOlder({ key, records: [...before, ...reply.traffic], cursor: reply.next_cursor })
  })
  const all = [...(newest?.traffic ?? []), ...(older?.records ?? [])]
  const records = [...new Map(all.map((record) => [record.id, record])).values()]
  return { records, hasMore: cursor !== null, more: () => load.run(), isBusy: load.isBusy, error: load.error }
}
