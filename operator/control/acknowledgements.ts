import type { Logger } from 'pino'
import type { GatewayProcess, OperatorState, PodRef } from '../../core/wire/operator/operator.ts'
import { sleep } from '../kube/sleep.ts'
import type { ControlPlaneClient } from './control-plane-client.ts'
import type { Replica } from './control-plane-http.ts'
import { createOutageLog } from './outage-log.ts'
import { type Replicas, replicaName } from './replicas.ts'

/** Polls all replicas of the control plane for the acknowledgements of their gateways. */
export type Acknowledgements = {
  /** Returns the merged state of all replicas; null before the first reply. */
  state(): OperatorState | null
  /** Returns the milliseconds since the last reply of any replica. */
  staleMs(): number
  /** Polls all replicas once. */
  poll(): Promise<void>
  /** Polls until the signal is aborted. */
  follow(): Promise<void>
}

export type AcknowledgementsDeps = {
  readonly client: Pick<ControlPlaneClient, 'state'>
  readonly replicas: Replicas
  readonly signal: AbortSignal
  readonly log: Logger
  /** Called when the state changed, and when an outage of all replicas began or ended. */
  readonly onChange: () => void
  /** Called with the pods whose sidecars a replica refuses, after every reply that contains some. */
  readonly onRefused: (pods: readonly PodRef[]) => void
  readonly pollMs?: number
}

const POLL_MS = 1_000

export function createAcknowledgements(deps: AcknowledgementsDeps): Acknowledgements {
  const { client, replicas, signal, log, onChange, onRefused, pollMs = POLL_MS } = deps
  let state: OperatorState | null = null
  let answeredAt = performance.now()
  let text = ''
  const outages = createOutageLog({ log, message: 'acknowledgements of a control plane replica not read' })

  async function fetchState(replica: Replica): Promise<OperatorState | null> {
    try {
      const answer = await client.state(replica, signal)
      outages.answered(replicaName(replica))
      return answer
    } catch (error) {
      if (!signal.aborted) outages.failed(replicaName(replica), error)
      return null
    }
  }

  async function poll(): Promise<void> {
    const states = await Promise.all((await replicas.find()).map(fetchState))
    const merged = mergeStates(states.filter((each) => each !== null))
    if (merged !== null) {
      state = merged
      answeredAt = performance.now()
      if (merged.refused_pods.length > 0) onRefused(merged.refused_pods)
    }
    // A new version alone changes no status, so it is not compared. The begin and the end of an outage change statuses.
    const now = JSON.stringify([state?.kills, state?.processes, merged === null])
    if (now === text) return
    text = now
    onChange()
  }

  return {
    state: () => state,
    staleMs: () => performance.now() - answeredAt,
    poll,
    async follow() {
      while (!signal.aborted) {
        await poll()
        await sleep(pollMs, signal)
      }
    },
  }
}

/**
 * Merges the states of all replicas; null without any. A replica also reports the processes of other replicas, with a
 * delay.
 */
export function mergeStates(states: readonly OperatorState[]): OperatorState | null {
  const [first] = states
  if (first === undefined) return null
  const processes = new Map<string, GatewayProcess>()
  for (const process of states.flatMap((state) => state.processes)) {
    const known = processes.get(process.process_id)
    processes.set(process.process_id, known === undefined ? process : mergeProcess(known, process))
  }
  const kills = new Map(
    states.flatMap((state) => state.kills).map((kill) => [`${kill.source}\n${kill.scope}`, kill]),
  )
  return {
    version: Math.max(...states.map((state) => state.version)),
    kills: sorted(kills),
    processes: sorted(processes),
    refused_pods: sorted(
      new Map(states.flatMap((state) => state.refused_pods).map((pod) => [pod.podUid, pod])),
    ),
  }
}

function mergeProcess(a: GatewayProcess, b: GatewayProcess): GatewayProcess {
  const covered = Math.max(a.covered_version ?? -1, b.covered_version ?? -1)
  return {
    ...a,
    covered_version: covered < 0 ? null : covered,
    has_kill_state: a.has_kill_state || b.has_kill_state,
    rejected: a.rejected ?? b.rejected,
    conditions: [...new Set([...a.conditions, ...b.conditions])].sort(),
    warnings: [...new Set([...a.warnings, ...b.warnings])].sort(),
  }
}

function sorted<T>(byKey: ReadonlyMap<string, T>): T[] {
  return [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value)
}
