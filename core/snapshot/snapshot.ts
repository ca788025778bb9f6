import type { HostIndex } from '../connectors/registry.ts'
import type { EnforcementLevel } from '../decision/decision.ts'
import type { PermissionIndex } from '../decision/permissions/permission-index.ts'
import type { PolicyIndex } from '../decision/policies/policy-index.ts'
import type { Verdict } from '../decision/vocabulary.ts'
import type {
  AgentEntry,
  GatewaySection,
  PermissionEntry,
  PolicyEntry,
  TokenKeyEntry,
} from '../wire/gateway/sync.ts'

/** Frozen configuration from which a gateway decides. A request keeps the snapshot with which it began. */
export type Snapshot = {
  readonly version: number
  readonly gateway: GatewaySection & {
    readonly level: EnforcementLevel
    readonly defaultVerdict: Verdict
    /**
     * Reason why the gateway refuses all hosts without a connector: this version does not understand a section entry
     * that may cover such hosts. Absent if `egress` decides.
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
  /** Section entries that this version does not understand, by section. Absent if there are none. */
  readonly notUnderstood?: ReadonlyMap<string, readonly NotUnderstood[]>
}

/** Section entry that this version of the gateway does not understand, with the resulting denial. */
export type NotUnderstood = {
  /**
   * Policy that denies the scope of the section entry. Null if a stand-in for the entry denies instead, or if the entry
   * is dropped because it could deny nothing (a policy in monitor mode, an allow for an unknown effect class).
   */
  readonly denial: PolicyEntry | null
  /**
   * True if the hosts of the section entry, or the egress settings of the Gateway, are unknown. The gateway then
   * refuses all hosts without a connector.
   */
  readonly closesEgress?: true
  /** Full sentences for users and agents: the unknown fields, the resulting denial, and the correction. */
  readonly warning: string
}

/** Returns the warnings about section entries that this version does not understand. */
export function notUnderstoodWarnings(snapshot: Pick<Snapshot, 'notUnderstood'> | null): readonly string[] {
  return [...(snapshot?.notUnderstood?.values() ?? [])].flat().map(({ warning }) => warning)
}
