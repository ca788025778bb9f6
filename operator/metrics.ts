import { Counter, Gauge, Registry } from 'prom-client'
import type { ReflectorMetrics } from './kube/reflector.ts'

/** Functions that return current values at every scrape. */
export type OperatorGauges = {
  /** Returns for each resource the seconds since the API server last sent data about it. */
  readonly staleness: () => ReadonlyMap<string, number>
  readonly queueDepth: () => number
  readonly isLeader: () => boolean
  /** Seconds since every control plane replica was last verified to hold all kill switches. */
  readonly killSwitchesBehindS: () => number
}

export type OperatorMetrics = ReflectorMetrics & {
  reconciled(kind: string, result: 'ok' | 'failed'): void
  statusWritten(kind: string): void
  leading(): void
  observe(gauges: OperatorGauges): void
  scrape(): Promise<string>
}

/** Creates the metrics in their own registry. Label values are kinds and resources, a small closed set. */
export function createOperatorMetrics(): OperatorMetrics {
  const registers = [new Registry()] as [Registry]
  const [registry] = registers
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter({ name: `svc_operator_${name}`, help, labelNames: [...labelNames], registers })
  const restarts = counter('watch_restarts_total', 'Watches opened on the API server', ['resource'])
  const relists = counter('relists_total', 'Complete lists from the API server', ['resource'])
  const reconciles = counter('reconciles_total', 'Reconciles of objects', ['kind', 'result'])
  const writes = counter('status_writes_total', 'Status writes', ['kind'])
  const terms = counter('leader_terms_total', 'Leader terms of this process', [])
  return {
    restarted: (resource) => restarts.inc({ resource }),
    relisted: (resource) => relists.inc({ resource }),
    reconciled: (kind, result) => reconciles.inc({ kind, result }),
    statusWritten: (kind) => writes.inc({ kind }),
    leading: () => terms.inc(),
    observe: (gauges) => observe(registry, gauges),
    scrape: () => registry.metrics(),
  }
}

function observe(registry: Registry, gauges: OperatorGauges): void {
  const registers = [registry]
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name: `svc_operator_${name}`,
      help,
      registers,
      collect() {
        this.set(read())
      },
    })
  new Gauge({
    name: 'svc_operator_staleness_seconds',
    help: 'Seconds since the API server last sent data about a resource',
    labelNames: ['resource'],
    registers,
    collect() {
      for (const [resource, seconds] of gauges.staleness()) this.set({ resource }, seconds)
    },
  })
  gauge('queue_depth', 'Objects in the reconcile queue, pending and running', gauges.queueDepth)
  gauge('is_leader', '1 while this process leads', () => (gauges.isLeader() ? 1 : 0))
  gauge(
    'stops_behind_seconds',
    'Seconds since every control plane replica was last verified to hold all kill switches',
    gauges.killSwitchesBehindS,
  )
}
