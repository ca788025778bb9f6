import type { Logger } from 'pino'
import { sleep } from '../../runtime/sleep.ts'
import type { ControlPlaneClient } from '../control/control-plane-client.ts'
import { createOutageLog, type OutageLog } from '../control/outage-log.ts'
import type { Namespaces } from '../kube/namespaces.ts'

export type NamespaceLabelsDeps = {
  readonly controlPlane: Pick<ControlPlaneClient, 'putNamespaces'>
  readonly namespaces: Pick<Namespaces, 'list'>
  readonly signal: AbortSignal
  readonly log: Logger
  /** Called when an object applies to other Gateways than before, because labels of a namespace changed. */
  readonly onRebound: () => void
  readonly compareMs: number
}

/**
 * Interval in milliseconds at which unchanged labels are reported again, because the control plane may have
 * been restored from a backup.
 */
const REPEAT_MS = 60_000

/**
 * Reports the labels of all namespaces to the control plane, which cannot read them and needs them for
 * `allowedNamespaces`. Only the leader reports, so that an older list never follows a newer one. A change is reported
 * within `compareMs`.
 */
export async function reportNamespaceLabels(deps: NamespaceLabelsDeps): Promise<void> {
  const { namespaces, signal, log, compareMs } = deps
  const outages = createOutageLog({
    log,
    message:
      'labels of namespaces could not be reported to the control plane, which evaluates allowedNamespaces with the labels it has; retrying',
  })
  let reported = ''
  let reportedAt = Number.NEGATIVE_INFINITY
  while (!signal.aborted) {
    const all = [...namespaces.list()].sort((a, b) => (a.name < b.name ? -1 : 1))
    const text = JSON.stringify(all)
    const isDue = text !== reported || performance.now() - reportedAt > REPEAT_MS
    if (isDue && (await report(deps, all, outages))) {
      reported = text
      reportedAt = performance.now()
    }
    await sleep(compareMs, signal)
  }
}

/** Reports the labels once. Returns false while the control plane is unreachable. */
async function report(
  { controlPlane, signal, onRebound }: NamespaceLabelsDeps,
  all: ReturnType<Namespaces['list']>,
  outages: OutageLog,
): Promise<boolean> {
  try {
    const { rebound } = await controlPlane.putNamespaces([...all], signal)
    outages.answered('control plane')
    if (rebound) onRebound()
    return true
  } catch (error) {
    if (!signal.aborted) outages.failed('control plane', error)
    return false
  }
}
