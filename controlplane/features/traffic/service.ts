import type { TrafficRecord } from '../../../core/record.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import type { ScopedReads } from '../../db/scoped-query.ts'
import { validationError } from '../../http/input.ts'
import { listTraffic } from './rows.ts'
import type { TrafficCursor, TrafficFilter } from './store.ts'

export type TrafficPage = {
  readonly traffic: readonly TrafficRecord[]
  readonly next_cursor: string | null
  readonly limit: number
}

export type Traffic = {
  /**
   * Lists records, newest first. `cursor` is `next_cursor` of the previous page. A page with a `next_cursor` can have
   * fewer records than `limit`, or none. The next page then continues the search in older records.
   */
  list(
    namespaces: Namespaces,
    filter: TrafficFilter,
    page: { readonly limit: number; readonly cursor?: string | undefined },
  ): Promise<TrafficPage>
}

export function createTraffic({
  read,
  orgId,
}: {
  readonly read: ScopedReads
  readonly orgId: string
}): Traffic {
  return {
    async list(namespaces, filter, { limit, cursor }) {
      const after = cursor === undefined ? undefined : readCursor(cursor)
      const { records, next } = await listTraffic(read(namespaces), orgId, { filter, limit, cursor: after })
      return { traffic: records, next_cursor: next === null ? null : writeCursor(next), limit }
    },
  }
}

function writeCursor({ time, id }: TrafficCursor): string {
  return Buffer.from(JSON.stringify([time, id])).toString('base64url')
}

function readCursor(text: string): TrafficCursor {
  const value = parsed(Buffer.from(text, 'base64url').toString('utf8'))
  const [time, id] = Array.isArray(value) ? (value as unknown[]) : []
  const isTime = typeof time === 'string' && !Number.isNaN(Date.parse(time))
  if (isTime && typeof id === 'string' && !id.includes('\0'))
    return { time: new Date(time).toISOString(), id }
  throw validationError([
    'cursor: is not a next_cursor of this list; send that of the last answer, or none for the first page',
  ])
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
