import type { GatewayHealth, GatewayStatus, RecentTraffic } from '../../core/wire/gateway/internal-replies.ts'
import type { DeepReadonly } from '../../core/wire/schema/fields.ts'
import type { ApiRequest } from '../listener/deps.ts'
import { type ApiAnswer, invalid, ok } from './api-http.ts'
import { type ApiRoute, get } from './api-route.ts'
import { MAX_RECENT, type RecentRecords } from './recent-records.ts'

export type StateRoutesDeps = {
  readonly health: () => GatewayHealth
  readonly status: () => DeepReadonly<GatewayStatus>
  readonly recent: RecentRecords
  readonly scrape: () => string
  readonly internalMetrics: () => string
}

export function stateRoutes(deps: StateRoutesDeps): readonly ApiRoute[] {
  const text = (content: string): ApiAnswer => ({ status: 200, text: content })
  return [
    get('/internal/status', () => ok<GatewayStatus>(deps.status())),
    get('/internal/traffic', (request) =>
      ok<RecentTraffic>({ traffic: deps.recent.newest(limitOf(request)) }),
    ),
    get('/internal/metrics', () => text(deps.internalMetrics())),
    get('/metrics', () => text(deps.scrape())),
    get('/health', () => health(deps.health())),
  ]
}

function health(body: GatewayHealth): ApiAnswer {
  return { status: body.status === 'not_ready' ? 503 : 200, body }
}

function limitOf({ query }: ApiRequest): number {
  const given = new URLSearchParams(query).get('limit')
  if (given === null) return 100
  const limit = /^\d{1,5}$/.test(given) ? Number(given) : 0
  if (limit < 1 || limit > MAX_RECENT) throw invalid([`limit: must be a number from 1 to ${MAX_RECENT}`])
  return limit
}
