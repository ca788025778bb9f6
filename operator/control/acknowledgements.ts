import type { Logger } from 'pino'
import type { OperatorState } from '../../core/wire/operator/operator.ts'
import type { PodRef } from '../../core/wire/operator/pods.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { ControlPlaneClient } from './control-plane-client.ts'
import type { Replica } from './control-plane-http.ts'
import { createGatewayStates, type GatewayState, mergeStates } from './gateway-states.ts'
import { createOutageLog } from './outage-log.ts'
import { followReplicas } from './replica-followers.ts'
import { type Replicas, replicaName } from './replicas.ts'

/**
 * Reads the state of every control plane replica by long polls. The state contains the acknowledgements of
 * gateways.
 */
export type Acknowledgements = {
  /** Returns the state of a Gateway (`namespace/name`), merged from all replicas; null before the first reply. */
  of(gateway: string): GatewayState | null
  /**
   * Returns why the last refresh of the credential of a Connector (`namespace/name`) failed; null if it did not fail.
   */
  credentialError(connector: string): string | null
  /** Returns the milliseconds until another process of the Gateway counts as lagging; null without such a process. */
  dueMs(gateway: string): number | null
  /** True when no replica has replied for 30 s. */
  isStale(): boolean
  /** Reads the state of all replicas once. */
  read(): Promise<void>
  /** Reads the states of all replicas by long polls until the signal is aborted. */
  follow(): Promise<void>
}

export type AcknowledgementsDeps = {
  readonly client: Pick<ControlPlaneClient, 'state'>
  readonly replicas: Replicas
  readonly signal: AbortSignal
  readonly log: Logger
  /** Called with the Gateways whose state changed; null means all Gateways. */
  readonly onGateways: (gateways: ReadonlySet<string> | null) => void
  /** Called with the Connectors whose credential began to fail, fails with another error, or is refreshed again. */
  readonly onCredentials: (connectors: ReadonlySet<string>) => void
  /** Called when an outage of all replicas has lasted for 30 s, and when it ends. */
  readonly onStale: () => void
  /** Called with the pods whose sidecars a replica refuses, after every reply that names refused pods. */
  readonly onRefused: (pods: readonly PodRef[]) => void
  /** Minimum number of milliseconds between two replies of one replica. */
  readonly pauseMs?: number
}

const PAUSE_MS = 1_000
/**
 * Time in milliseconds without a reply of any replica after which the state counts as stale. A long poll
 * without a change ends earlier.
 */
const STALE_AFTER_MS = 30_000

export function createAcknowledgements(deps: AcknowledgementsDeps): Acknowledgements {
  const { client, replicas, signal, onGateways, onCredentials, onStale, onRefused } = deps
  const { pauseMs = PAUSE_MS } = deps
  const states = createGatewayStates()
  const replies = new Map<string, OperatorState>()
  const outages = createOutageLog({
    log: deps.log,
    message:
      'the state of a control plane replica, with the acknowledgements of its gateways, could not be read; retrying',
  })
  let credentialErrors: ReadonlyMap<string, string> = new Map()
  let answeredAt = performance.now()
  let wasStale = false
  const isStale = () => performance.now() - answeredAt >= STALE_AFTER_MS

  function checkStale(): void {
    if (wasStale === isStale()) return
    wasStale = isStale()
    onStale()
  }

  /**
   * Reads the state of one replica. With `known`, the replica replies when its state differs, or when the long poll
   * ends.
   */
  async function readReplica(replica: Replica, ended: AbortSignal, known?: string): Promise<void> {
    const name = replicaName(replica)
    try {
      const answer = await client.state(replica, ended, known)
      outages.answered(name)
      replies.set(name, answer)
      answeredAt = performance.now()
      if (answer.refused_pods.length > 0) onRefused(answer.refused_pods)
    } catch (error) {
      replies.delete(name)
      if (!ended.aborted) outages.failed(name, error)
    }
  }

  function merge(): void {
    const merged = mergeStates([...replies.values()])
    const changed = merged === null ? new Set<string>() : states.put(merged)
    if (changed === null || changed.size > 0) onGateways(changed)
    if (merged !== null) putCredentials(merged)
    checkStale()
  }

  function putCredentials({ failing_credentials: failing }: OperatorState): void {
    const before = credentialErrors
    credentialErrors = new Map(failing.map(({ connector, error }) => [connector, error]))
    const names = [...before.keys(), ...credentialErrors.keys()]
    const changed = new Set(names.filter((name) => before.get(name) !== credentialErrors.get(name)))
    if (changed.size > 0) onCredentials(changed)
  }

  async function followReplica(replica: Replica, ended: AbortSignal): Promise<void> {
    while (!ended.aborted) {
      await readReplica(replica, ended, replies.get(replicaName(replica))?.revision)
      if (!ended.aborted) merge()
      await sleep(pauseMs, ended)
    }
    replies.delete(replicaName(replica))
  }

  return {
    of: states.of,
    credentialError: (connector) => credentialErrors.get(connector) ?? null,
    dueMs: states.dueMs,
    isStale,
    async read() {
      await Promise.all((await replicas.find()).map((replica) => readReplica(replica, signal)))
      merge()
    },
    follow: () => followReplicas({ replicas, signal, follow: followReplica, onResolved: checkStale }),
  }
}
