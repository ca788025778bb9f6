import type { Exposition } from './exposition.ts'

/** Values about work that agents started at providers; see `HostedWork`. */
export type HostedWorkCounts = {
  readonly size: number
  readonly dropped: number
  readonly unidentifiedCount: number
}

export function writeHostedWork(out: Exposition, counts: HostedWorkCounts): void {
  const { size, dropped, unidentifiedCount } = counts
  out.family(
    'svc_hosted_work',
    'gauge',
    'Work of agents that runs at providers, such as batches, and that a kill switch would cancel.',
  )
  out.sample('svc_hosted_work', '', size)
  out.family(
    'svc_hosted_work_unknown_total',
    'counter',
    'Running work at providers that kill switches cannot cancel, by cause.',
  )
  out.sample('svc_hosted_work_unknown_total', 'cause="limit"', dropped)
  out.sample('svc_hosted_work_unknown_total', 'cause="no_id"', unidentifiedCount)
}
