import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import { covers, type Namespaces } from '../../../core/wire/access/rights.ts'
import {
  type HostedWorkReport,
  type HostedWorkState,
  MAX_WORK_RESULTS,
} from '../../../core/wire/gateway/hosted-work.ts'

/** Report of one connected gateway process about hosted work: work that a provider continues after its response. */
export type ProcessWork = {
  /** Full name of the gateway, `namespace/name`. */
  readonly gateway: string
  readonly report: HostedWorkReport
}

/**
 * Returns the cancelled hosted work of all connected processes, limited to agents and gateways in the namespaces.
 * Returns undefined when no process reports hosted work.
 */
export function hostedWorkState(
  processes: readonly ProcessWork[],
  namespaces: Namespaces = 'all',
): HostedWorkState | undefined {
  const isIn = (name: string) => namespaces === 'all' || covers(namespaces, namespaceOf(name) || null)
  const own = processes.filter(({ gateway }) => isIn(gateway)).map(({ report }) => report)
  const results = processes
    .flatMap(({ report }) => report.results)
    .filter(({ agent }) => isIn(agent))
    .toSorted((a, b) => b.at.localeCompare(a.at))
  if (own.length === 0 && results.length === 0) return undefined
  const listed = results.slice(0, MAX_WORK_RESULTS)
  return {
    pending: sum(own, ({ pending }) => pending),
    cancelled: listed.filter(({ outcome }) => outcome === 'cancelled'),
    not_cancelled: listed.filter(({ outcome }) => outcome !== 'cancelled'),
    omitted: sum(own, ({ omitted }) => omitted) + results.length - listed.length,
    note: noteOf(own),
  }
}

/**
 * Returns a sentence about hosted work that the reports of the gateways cannot list: work from before the start of the
 * gateways, work that a gateway discarded from its limited list, and work without an id.
 */
function noteOf(reports: readonly HostedWorkReport[]): string {
  const since = reports
    .map((report) => report.since)
    .toSorted()
    .at(-1)
  const dropped = sum(reports, (report) => report.dropped)
  const unidentified = sum(reports, (report) => report.unidentified)
  return [
    since === undefined
      ? 'No connected gateway reports work that agents started at providers.'
      : `The list omits work from before the last start of each gateway (the latest start was at ${since}).`,
    ...(dropped === 0
      ? []
      : [`Items that the list omits, because a gateway keeps a limited number of them: ${dropped}.`]),
    ...(unidentified === 0
      ? []
      : [`Requests that may have started work whose id was not received: ${unidentified}.`]),
  ].join(' ')
}

function sum(reports: readonly HostedWorkReport[], of: (report: HostedWorkReport) => number): number {
  return reports.reduce((total, report) => total + of(report), 0)
}
