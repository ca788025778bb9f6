import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { SecretCounts } from './cluster/secrets.ts'
import type { ReflectorMetrics } from './kube/reflector.ts'

/** Functions that return current values at every scrape. */
export type OperatorGauges = {
  /** Returns for each resource the seconds since the API server last sent data about it. */
  readonly staleness: () => ReadonlyMap<string, number>
  readonly queueDepth: () => number
  readonly isLeader: () => boolean
  /** Seconds since every control plane replica was last verified to hold all kill switches. */
  readonly killSwitchesBehindS: () => number
  /** Returns the numbers of pods, by `namespace/name` of the Gateway. */
  readonly pods: () => ReadonlyMap<string, PodCounts>
  /** Returns the certificates of the webhook, by name. */
  readonly certificates: () => ReadonlyMap<string, Validity>
  /** Returns the counts of the Secrets that Connectors refer to. */
  readonly secrets: () => SecretCounts
}

/** Numbers of pods of one Gateway. */
export type PodCounts = {
  readonly governed: number
  /** Number of pods whose sidecar has not been ready for over 60 s. */
  readonly notReady: number
  /** Number of pods that bypass or can bypass their gateway, for example because they have no sidecar. */
  readonly ungoverned: number
}

/** Validity of a certificate in epoch milliseconds. */
export type Validity = { readonly notBeforeMs: number; readonly notAfterMs: number }

/** Webhook that the API server called, and the result of the review. */
export type Review = {
  readonly webhook: 'pods' | 'manifests'
  readonly outcome: 'injected' | 'untouched' | 'refused' | 'failed'
}

export type OperatorMetrics = ReflectorMetrics & {
  reconciled(kind: string, result: 'ok' | 'failed'): void
  statusWritten(kind: string): void
  leading(): void
  reviewed(review: Review, durationMs: number): void
  observe(gauges: OperatorGauges): void
  scrape(): Promise<string>
}

/** Bounds of the histogram in seconds. The API server waits at most 5 s for a review. */
const REVIEW_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/**
 * Creates the metrics in a registry of their own. Label values are fixed names, and names of existing Gateways and of
 * namespaces, so that agents cannot create time series.
 */
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
  const reviews = counter('admission_reviews_total', 'Admission reviews by webhook and outcome', [
    'webhook',
    'outcome',
  ])
  const reviewSeconds = new Histogram({
    name: 'svc_operator_admission_review_seconds',
    help: 'Duration of admission reviews by webhook (pods, manifests)',
    labelNames: ['webhook'],
    buckets: REVIEW_BOUNDS,
    registers,
  })
  return {
    restarted: (resource) => restarts.inc({ resource }),
    relisted: (resource) => relists.inc({ resource }),
    reconciled: (kind, result) => reconciles.inc({ kind, result }),
    statusWritten: (kind) => writes.inc({ kind }),
    leading: () => terms.inc(),
    reviewed({ webhook, outcome }, durationMs) {
      reviews.inc({ webhook, outcome })
      reviewSeconds.observe({ webhook }, durationMs / 1_000)
    },
    observe: (gauges) => observe(registry, gauges),
    scrape: () => registry.metrics(),
  }
}

type Values = Iterable<readonly [string, number]>

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
  const labelled = (name: string, help: string, [label, read]: readonly [label: string, () => Values]) =>
    new Gauge({
      name: `svc_operator_${name}`,
      help,
      labelNames: [label],
      registers,
      collect() {
        this.reset()
        for (const [value, number] of read()) this.set({ [label]: value }, number)
      },
    })
  labelled('staleness_seconds', 'Seconds since the API server last sent data about a resource', [
    'resource',
    gauges.staleness,
  ])
  gauge('queue_depth', 'Objects in the reconcile queue, pending and running', gauges.queueDepth)
  gauge('is_leader', '1 while this process leads', () => (gauges.isLeader() ? 1 : 0))
  gauge(
    'stops_behind_seconds',
    'Seconds since every control plane replica was last verified to hold all kill switches',
    gauges.killSwitchesBehindS,
  )
  observePods(labelled, gauges)
  observeCertificates(labelled, gauges)
  gauge('secret_watches', 'Secrets of Connectors that are watched', () => gauges.secrets().watched)
  labelled(
    'secrets_unreadable',
    'Secrets of Connectors that cannot be read, by reason (missing, forbidden, unreadable)',
    ['reason', () => Object.entries(gauges.secrets().unreadable)],
  )
  labelled(
    'credential_age_seconds',
    'Seconds since the oldest credential of a namespace was last changed, by namespace',
    ['namespace', () => gauges.secrets().ageS],
  )
}

type Labelled = (name: string, help: string, values: readonly [label: string, () => Values]) => unknown

function observePods(labelled: Labelled, { pods }: OperatorGauges): void {
  const values = (read: (counts: PodCounts) => number) =>
    ['gateway', () => [...pods()].map(([gateway, counts]) => [gateway, read(counts)] as const)] as const
  labelled(
    'governed_pods',
    'Pods with a sidecar by Gateway',
    values(({ governed }) => governed),
  )
  labelled(
    'sidecars_not_ready',
    'Pods by Gateway whose sidecar has not been ready for over 60 s',
    values(({ notReady }) => notReady),
  )
  labelled(
    'ungoverned_pods',
    'Pods that should be governed but can bypass their Gateway, by Gateway; the label is empty for pods that name no Gateway',
    values(({ ungoverned }) => ungoverned),
  )
}

function observeCertificates(labelled: Labelled, { certificates }: OperatorGauges): void {
  const values = (readMs: (validity: Validity) => number) =>
    [
      'certificate',
      () => [...certificates()].map(([name, validity]) => [name, readMs(validity) / 1_000] as const),
    ] as const
  labelled(
    'certificate_age_seconds',
    'Age of the certificate, by certificate (webhook, webhook_ca)',
    values(({ notBeforeMs }) => Date.now() - notBeforeMs),
  )
  labelled(
    'certificate_remaining_seconds',
    'Seconds until the certificate expires, by certificate; negative after its expiry',
    values(({ notAfterMs }) => notAfterMs - Date.now()),
  )
}
