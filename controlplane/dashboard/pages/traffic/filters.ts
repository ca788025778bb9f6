import type { TrafficQuery } from '../../../../core/wire/traffic.ts'

/** URL parameters that filter the traffic log. */
export const FILTER_NAMES = [
  'q',
  'agent',
  'instance',
  'connector',
  'decision',
  'action_type',
  'from',
  'to',
] as const

export type Filters = Partial<Readonly<Record<(typeof FILTER_NAMES)[number], string>>>

export function filtersOf(query: Readonly<Record<string, string>>): Filters {
  return Object.fromEntries(
    FILTER_NAMES.flatMap((name) => {
      const value = query[name]
      return value ? [[name, value]] : []
    }),
  )
}

/** Converts `from` and `to` from the local times of an input element (`2026-11-21T14:00`) to ISO 8601 in UTC. */
export function trafficQuery(filters: Filters, limit: number): TrafficQuery {
  return { ...filters, from: isoTime(filters.from), to: isoTime(filters.to), limit }
}

function isoTime(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const time = Date.parse(text)
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}
