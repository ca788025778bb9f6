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
  /** Of a Connector. */
  readonly credential: Credential | null
  /** Merged from all replicas of the control plane; null: none answered yet. */
  readonly state: OperatorState | null
  /** Milliseconds since any replica answered. */
  readonly staleMs: number
  /** Of a Gateway. */
  readonly pods: PodCount | null
  /** Of a Gateway: its pods without a sidecar, `namespace/name`. */
  readonly bypassing: readonly string[]
  /** Of a Gateway: its agents that also run under other Gateways, with their names. */
  readonly sharedAgents: readonly string[]
  /** Of a Gateway: fields below a floor of the installation. */
  readonly belowFloor: readonly FieldBelowFloor[]
  /** RFC 3339. */
  readonly now: string
}

/** A status is stale when no replica has answered for this long. */
export const STALE_AFTER_MS = 30_000
