import type { HostIndex } from '../connectors/registry.ts'
import type { EnforcementLevel } from '../decision/decision.ts'
import type { PermissionIndex } from '../decision/permissions/permissions.ts'
import type { PolicyIndex } from '../decision/policies/policy-index.ts'
import type { Verdict } from '../decision/vocabulary.ts'
import type {
  AgentEntry,
  GatewaySection,
  PermissionEntry,
  PolicyEntry,
  TokenKeyEntry,
} from '../wire/gateway/sync.ts'

/** Frozen configuration on which a gateway bases its decisions. A request keeps the snapshot with which it began. */
export type Snapshot = {
  readonly version: number
  readonly gateway: GatewaySection & {
    readonly level: EnforcementLevel
    readonly defaultVerdict: Verdict
    /**
     * Why hosts without a connector are refused in any case: an entry of the configuration is not understood, and such
     * hosts may be in its scope. Absent: `egress` decides.
     */
    readonly egressClosedBy?: string
  }
  readonly agentsByName: ReadonlyMap<string, AgentEntry>
  readonly hosts: HostIndex
  readonly permissions: PermissionIndex
  readonly policies: PolicyIndex
  readonly keys: readonly TokenKeyEntry[]
  /** Hex SHA-256 of each section's content, by its name. */
  readonly sections: Readonly<Record<string, string>>
  /** Validated permissions by section, so that the next build validates only the sections that changed. */
  readonly permissionShards?: ReadonlyMap<string, readonly PermissionEntry[]>
  /** Entries that this version does not understand, by section; absent if it understands all. */
  readonly notUnderstood?: ReadonlyMap<string, readonly NotUnderstood[]>
}

/** An entry of the configuration that this version of the gateway does not understand, and what is denied for it. */
export type NotUnderstood = {
  /** Policy that denies the scope of the entry; null if the entry itself was replaced by one that does. */
  readonly denial: PolicyEntry | null
  /** True: the hosts of the entry are unknown, so hosts without a connector are refused as well. */
  readonly closesEgress?: true
  /** Full sentences for users and agents: what is not understood, what is denied, how to correct it. */
  readonly warning: string
}

/** Returns the sentences about entries that this version does not understand. */
export function notUnderstoodWarnings(snapshot: Pick<Snapshot, 'notUnderstood'> | null): readonly string[] {
  return [...(snapshot?.notUnderstood?.values() ?? [])].flat().map(({ warning }) => warning)
}
