import type { Logger } from 'pino'
import type { DesiredClient } from '../control/control-plane-client.ts'
import { createOutageLog, type OutageLog } from '../control/outage-log.ts'
import type { Namespaces } from '../kube/namespaces.ts'
import { sleep } from '../kube/sleep.ts'

export type NamespaceLabelsDeps = {
  readonly desired: Pick<DesiredClient, 'putNamespaces'>
  readonly namespaces: Pick<Namespaces, 'list'>
  readonly signal: AbortSignal
  readonly log: Logger
  /** Called when objects are bound differently by the new labels. */
  readonly onChange: () => void
  readonly compareMs: number
}

/** Everything is reported again so often, because the control plane may have been restored from a backup. */
const REPEAT_MS = 60_000

/**
 * Reports the labels of namespaces to the control plane, which has no rights on them and which Gateways admit objects
 * by. One replica does it, so that an older list never follows a newer one. A change is reported within `compareMs`.
 */
export async function reportNamespaceLabels(deps: NamespaceLabelsDeps): Promise<void> {
  const { namespaces, signal, log, compareMs } = deps
  const outages = createOutageLog({ log, message: 'labels of namespaces not reported, trying again' })
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

/** False while the control plane cannot be told. */
async function report(
  { desired, signal, onChange }: NamespaceLabelsDeps,
  all: ReturnType<Namespaces['list']>,
  outages: OutageLog,
): Promise<boolean> {
  try {
    const { rebound } = await desired.putNamespaces([...all], signal)
    outages.answered('control plane')
    if (rebound) onChange()
    return true
  } catch (error) {
    if (!signal.aborted) outages.failed('control plane', error)
    return false
  }
}
