import type { FieldBelowFloor } from '../../core/crd/floors.ts'
import type { OperatorState, PushReply } from '../../core/wire/operator/operator.ts'
import type { Credential } from '../cluster/credentials.ts'
import type { PodCount } from '../cluster/governed-pods.ts'

/** The inputs of a status besides the object itself. */
export type StatusFacts = {
  /** The control plane's reply to this content; null: not pushed yet. */
  readonly reply: PushReply | null
  /** Why the last push failed; null when it succeeded. */
  readonly failure: string | null
  /** Credential of a Connector; null for the other kinds. */
  readonly credential: Credential | null
  /** State merged from all replicas of the control plane; null until a replica has answered. */
  readonly state: OperatorState | null
  /** Milliseconds since the last answer of any replica. */
  readonly staleMs: number
  /** Pods of a Gateway; null for the other kinds. */
  readonly pods: PodCount | null
  /** Pods of a Gateway without a sidecar, as `namespace/name`. */
  readonly bypassing: readonly string[]
  /** Agents of a Gateway that also run under other Gateways, with the names of those Gateways. */
  readonly sharedAgents: readonly string[]
  /** Fields of a Gateway that are below a floor of the installation. */
  readonly belowFloor: readonly FieldBelowFloor[]
  /** Current time (RFC 3339). */
  readonly now: string
}

/** A status is stale when no replica has answered for this long. */
export const STALE_AFTER_MS = 30_000
