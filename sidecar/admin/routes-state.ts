import type { ApiRequest } from '../listener/deps.ts'
import { type ApiAnswer, invalid, ok } from './api-http.ts'
import { type ApiRoute, get } from './api-route.ts'
import { MAX_RECENT, type RecentRecords } from './recent-records.ts'

/** Body of `GET /internal/status` and `GET /health` (spec 4.2). */
export type Health = {
  readonly status: 'ok' | 'degraded' | 'not_ready'
  readonly uptime_seconds: number
  /** Number of active agents in the snapshot. */
  readonly agents: number
  /** Types of the Connectors in the snapshot. */
  readonly connectors: readonly string[]
}

export type StateRoutesDeps = {
  readonly health: () => Health
  readonly status: () => Readonly<Record<string, unknown>>
  readonly recent: RecentRecords
  readonly scrape: () => string
  readonly internalMetrics: () => string
}

export function stateRoutes(deps: StateRoutesDeps): readonly ApiRoute[] {
  const text = (content: string): ApiAnswer => ({ status: 200, text: content })
  return [
    get('/internal/status', () => ok(deps.status())),
    get('/internal/traffic', (request) => ok({ traffic: deps.recent.newest(limitOf(request)) })),
    get('/internal/metrics', () => text(deps.internalMetrics())),
    get('/metrics', () => text(deps.scrape())),
    get('/health', () => health(deps.health())),
  ]
}

function health(body: Health): ApiAnswer {
  return { status: body.status === 'not_ready' ? 503 : 200, body }
}

function limitOf({ query }: ApiRequest): number {
  const given = new URLSearchParams(query).get('limit')
  if (given === null) return 100
  const limit = /^\d{1,5}$/.test(given) ? Number(given) : 0
  if (limit < 1 || limit > MAX_RECENT) throw invalid([`limit: must be a number from 1 to ${MAX_RECENT}`])
  return limit
}
