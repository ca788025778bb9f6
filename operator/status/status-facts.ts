import type { FieldBelowFloor } from '../../core/crd/gateway/floors.ts'
import type { PushReply } from '../../core/wire/operator/operator.ts'
import type { Credential } from '../cluster/credentials.ts'
import type { Disconnected } from '../cluster/disconnections.ts'
import type { PodFacts } from '../cluster/pods/pod-index.ts'
import type { GatewayState } from '../control/gateway-states.ts'
import type { BypassingPod } from '../guard/watchdog.ts'

/** Facts from which the status of an object is computed, in addition to the object itself. */
export type StatusFacts = {
  /** Reply of the control plane to the current content of the object; null before that content was pushed. */
  readonly reply: PushReply | null
  /** Reason why the last push failed; null when it succeeded. */
  readonly failure: string | null
  /** Credential of a Connector; null for the other kinds. */
  readonly credential: Credential | null
  /** Error of the source of a Connector's credential, as the control plane reports it; null without one. */
  readonly credentialError: string | null
  /** True when no replica of the control plane has answered for 30 s. */
  readonly isStale: boolean
  /** Fields of the status that the custom resource definition lacks, because it is older than the operator. */
  readonly undeclared: readonly string[]
  /** Facts about the gateways and pods of a Gateway; null for the other kinds. */
  readonly gateway: GatewayFacts | null
  /** Current time (RFC 3339). */
  readonly now: string
}

export type GatewayFacts = {
  /** State merged from all replicas of the control plane; null until a replica has answered. */
  readonly state: GatewayState | null
  readonly pods: PodFacts
  /**
   * Namespaces of `pods.isolatedIn` without a NetworkPolicy that isolates pods with `interception: proxyEnv`.
   */
  readonly notIsolatedIn: readonly string[]
  /** Pods whose sidecar has had no connection to the control plane for over 60 s. */
  readonly disconnected: readonly Disconnected[]
  /** Pods that bypass or can bypass their gateway. */
  readonly bypassing: readonly BypassingPod[]
  /** Fields of the Gateway whose values are weaker than the installation permits. */
  readonly belowFloor: readonly FieldBelowFloor[]
}
