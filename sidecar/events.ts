import type { OwnRecord, TrafficRecord } from '../core/record.ts'
import type { RecentRecords } from './admin/recent-records.ts'
import type { UnlistedPorts } from './capture/unlisted-ports.ts'
import { Registry } from './collections/registry.ts'
import type { Metrics } from './metrics.ts'
import type { Exchange } from './pipeline/exchange.ts'
import type { EventPort } from './pipeline/ports.ts'
import type { Log } from './process/log.ts'

export type EventsDeps = {
  readonly metrics: Metrics
  readonly recent: RecentRecords
  readonly unlistedPorts: Pick<UnlistedPorts, 'note'>
  readonly log: Pick<Log, 'debug' | 'info'> & { isLevelEnabled(level: string): boolean }
}

export type Events = EventPort & {
  /** Numbers of requests in progress by agent name. The key is null for requests without an identified agent. */
  activeByAgent(): ReadonlyMap<string | null, number>
}

/** Records each event in metrics, recent records and log with one call, so that the three agree. */
export function createEvents({ metrics, recent, unlistedPorts, log }: EventsDeps): Events {
  const active = new Registry<Exchange>()
  function counted(exchange: Exchange, record: OwnRecord): void {
    const { denyReason, isEchoMasked } = exchange.outcome
    metrics.finished(record, denyReason, isEchoMasked)
    if (exchange.connector === undefined && exchange.decision?.would === 'deny') unlistedPorts.note(exchange)
  }
  return {
    accepted(exchange) {
      metrics.accepted()
      const handle = active.add(exchange)
      return () => active.remove(handle)
    },
    counted,
    rowFinished(record, json) {
      recent.add(json)
      log.info({ ...lineOf(record), refusals: record.refusals }, 'refusals')
    },
    finished(exchange, record, json) {
      counted(exchange, record)
      recent.add(json)
      // Allowed requests are not logged at level info, because there can be 10,000 a second.
      if (record.decision !== 'ALLOW' || record.note !== null) log.info(lineOf(record), 'request')
      else if (log.isLevelEnabled('debug')) log.debug(lineOf(record), 'request')
    },
    activeByAgent() {
      const counts = new Map<string | null, number>()
      for (const exchange of active.all()) {
        const agent = exchange.agent?.name ?? null
        counts.set(agent, (counts.get(agent) ?? 0) + 1)
      }
      return counts
    },
  }
}

function lineOf(record: TrafficRecord): object {
  const { id, agent, action_type, decision, latency_ms, note, reason, method, host, path, status } = record
  return { id, agent, action_type, decision, latency_ms, note, reason, method, host, path, status }
}
