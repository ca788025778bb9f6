import { type ActionCounts, countActions } from '../store/action-counts.ts'
import type { Db } from '../store/query.ts'

export type ControlPlaneMetrics = {
  /** The exposition format of Prometheus (spec 4.5). */
  scrape(): Promise<string>
}

export type MetricsDeps = {
  readonly db: Db
  readonly orgId: string
  /** Gateway processes that are connected to this replica. */
  readonly processes: () => number
}

export function createControlPlaneMetrics(deps: MetricsDeps): ControlPlaneMetrics {
  let counting: Promise<ActionCounts> | undefined
  // Counting all traffic costs the database something: scrapes at the same time share it.
  const counts = () => {
    counting ??= countActions(deps.db, deps.orgId).finally(() => {
      counting = undefined
    })
    return counting
  }
  return { scrape: async () => exposition(await counts(), deps.processes()) }
}

function exposition({ total, lastHour, decisions24h }: ActionCounts, processes: number): string {
  return [
    ...metric('svc_actions_total', 'counter', 'Actions submitted to v1 or sent through gateways', [
      ['', total],
    ]),
    ...metric('svc_processes_active', 'gauge', 'Gateway processes connected to this replica', [
      ['', processes],
    ]),
    ...metric('svc_actions_last_hour', 'gauge', 'Actions of the last hour', [['', lastHour]]),
    ...metric(
      'svc_decisions_24h',
      'gauge',
      'Decisions of the last 24 hours by outcome',
      Object.entries(decisions24h).map(([outcome, count]) => [`{outcome="${outcome}"}`, count]),
    ),
    '',
  ].join('\n')
}

function metric(
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  samples: readonly (readonly [labels: string, value: number])[],
): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value]) => `${name}${labels} ${value}`),
  ]
}
